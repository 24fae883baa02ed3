/* Puts the embedded launcher into a memory file, sealed against change. The symbols come from the linker (src/meson.build). */
#include "sandbox/image.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

extern const char launcher_image[] __asm__("_binary_src_cadre_launcher_start");
extern const char launcher_image_end[] __asm__("_binary_src_cadre_launcher_end");

static int write_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t written = write(fd, bytes, n);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return -1;
        bytes += written;
        n -= (size_t)written;
    }
    return 0;
}

int image_open(struct err *err)
{
    int fd = memfd_create("cadre-launcher", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
    if (fd < 0 && errno == EINVAL) /* a kernel that does not ask about execution */
        fd = memfd_create("cadre-launcher", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return err_set(err, ERR_DENIED, "cannot make a program in memory: %s", strerror(errno));
    /* cppcheck-suppress comparePointers ; the linker made both from one thing */
    if (write_all(fd, launcher_image, (size_t)(launcher_image_end - launcher_image)) != 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0) {
        err_set(err, ERR_IO, "cannot write the launcher to memory: %s", strerror(errno));
        close(fd);
        return -1;
    }
    return fd;
}
