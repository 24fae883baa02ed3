/* File systems that hold no files of anybody's but show the kernel: processes, devices, settings. One that is mounted below a workspace
 * is not a part of it. Numbers are those of statfs. Pure. */
#ifndef CADRE_OS_PSEUDOFS_H
#define CADRE_OS_PSEUDOFS_H

#include <stdbool.h>
#include <stddef.h>

static inline bool pseudofs_is(long type)
{
    static const unsigned long types[] = {
        0x9fa0,     /* proc */
        0x62656572, /* sysfs */
        0x27e0eb,   /* cgroup */
        0x63677270, /* cgroup2 */
        0x64626720, /* debugfs */
        0x74726163, /* tracefs */
        0x73636673, /* securityfs */
        0x62656570, /* configfs */
        0xcafe4a11, /* bpf */
        0x1cd1,     /* devpts */
        0xde5e81e4, /* efivarfs */
        0x6165676c, /* pstore */
        0x42494e4d, /* binfmt_misc */
        0x19800202, /* mqueue */
        0x6e736673, /* nsfs */
        0x65735543, /* fusectl */
        0xf97cff8c, /* selinux */
        0x43415d53, /* smack */
        0x67596969, /* rpc_pipefs */
        0x958458f6, /* hugetlbfs */
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if ((unsigned long)type == types[i])
            return true;
    return false;
}

#endif
