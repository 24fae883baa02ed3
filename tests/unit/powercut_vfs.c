/* See powercut_vfs.h. Two layers: struct disk is what the platter may hold of one file, struct cut_file is SQLite's
 * view of it. Runs on the test's only thread. */
#include "powercut_vfs.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECTOR 512
#define DISKS_MAX 8
#define UNSYNCED_MAX 65536
#define FILE_MAX (64u << 20)

enum change_kind { CHANGE_WRITE, CHANGE_TRUNCATE };

struct change {
    enum change_kind kind;
    size_t offset; /* the new size of a truncation */
    size_t size;
    unsigned char *bytes;
};

struct disk {
    char path[512];
    unsigned char *image; /* what was synced */
    size_t size;
    bool exists;         /* as programs see it */
    bool exists_durably; /* since the last sync of the directory */
    struct change *changes;
    size_t change_count;
};

struct powercut {
    sqlite3_vfs vfs;
    sqlite3_vfs *real;
    struct disk disks[DISKS_MAX];
    size_t disk_count;
    uint64_t random;
    unsigned countdown;
    bool off;
    enum powercut_fault fault;
};

struct cut_file {
    sqlite3_file base;
    struct powercut *machine;
    struct disk *disk; /* NULL for temporary files */
    bool is_log;       /* SQLite syncs the directory with the first sync of a journal or log */
    sqlite3_file *real;
};

static void *must(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

uint64_t powercut_random(struct powercut *machine, uint64_t below)
{
    machine->random ^= machine->random << 13;
    machine->random ^= machine->random >> 7;
    machine->random ^= machine->random << 17;
    return (machine->random >> 11) % below;
}

/* --- the platter -------------------------------------------------------------------------------------------- */

static void image_resize(struct disk *disk, size_t size)
{
    if (size > FILE_MAX)
        abort();
    disk->image = must(realloc(disk->image, size + 1));
    if (size > disk->size)
        memset(disk->image + disk->size, 0, size - disk->size);
    disk->size = size;
}

static void image_write(struct disk *disk, size_t offset, const unsigned char *bytes, size_t size)
{
    if (offset + size > disk->size)
        image_resize(disk, offset + size);
    memcpy(disk->image + offset, bytes, size);
}

static void image_apply(struct disk *disk, const struct change *change)
{
    if (change->kind == CHANGE_TRUNCATE)
        image_resize(disk, change->offset);
    else
        image_write(disk, change->offset, change->bytes, change->size);
}

static void changes_forget(struct disk *disk)
{
    for (size_t i = 0; i < disk->change_count; i++)
        free(disk->changes[i].bytes);
    disk->change_count = 0;
}

static void change_note(struct disk *disk, enum change_kind kind, size_t offset, const void *bytes,
                        size_t size)
{
    if (disk->change_count == UNSYNCED_MAX)
        abort();
    struct change *change = &disk->changes[disk->change_count++];
    *change = (struct change){.kind = kind, .offset = offset, .size = size};
    if (size > 0) {
        change->bytes = must(malloc(size));
        memcpy(change->bytes, bytes, size);
    }
}

static void image_load(struct disk *disk)
{
    FILE *file = fopen(disk->path, "rb");
    unsigned char block[4096];
    size_t n;
    if (!file)
        return;
    while ((n = fread(block, 1, sizeof block, file)) > 0)
        image_write(disk, disk->size, block, n);
    fclose(file);
}

static void image_store(const struct disk *disk)
{
    FILE *file = must(fopen(disk->path, "wb"));
    if (disk->size > 0 && fwrite(disk->image, 1, disk->size, file) != disk->size)
        abort();
    fclose(file);
}

static struct disk *disk_find(struct powercut *machine, const char *path)
{
    for (size_t i = 0; i < machine->disk_count; i++) {
        if (strcmp(machine->disks[i].path, path) == 0)
            return &machine->disks[i];
    }
    return NULL;
}

static struct disk *disk_open(struct powercut *machine, const char *path)
{
    struct disk *disk = disk_find(machine, path);
    if (disk)
        return disk;
    if (machine->disk_count == DISKS_MAX || strlen(path) >= sizeof disk->path)
        abort();
    disk = &machine->disks[machine->disk_count++];
    *disk = (struct disk){.exists_durably = access(path, F_OK) == 0};
    memcpy(disk->path, path, strlen(path) + 1);
    disk->changes = must(calloc(UNSYNCED_MAX, sizeof *disk->changes));
    image_resize(disk, 0);
    image_load(disk);
    return disk;
}

/* All of the machine's files lie in one directory. */
static void directory_sync(struct powercut *machine)
{
    for (size_t i = 0; i < machine->disk_count; i++) {
        struct disk *disk = &machine->disks[i];
        disk->exists_durably = disk->exists;
        if (disk->exists)
            continue;
        changes_forget(disk);
        image_resize(disk, 0);
    }
}

/* Some sectors of a write arrive, some do not, and some only in part. */
static void tear(struct powercut *machine, struct disk *disk, const struct change *change)
{
    size_t at = 0;
    while (at < change->size) {
        size_t room = SECTOR - (change->offset + at) % SECTOR;
        size_t size = change->size - at < room ? change->size - at : room;
        size_t from = 0, to = size;
        switch (powercut_random(machine, 8)) {
        case 0:
        case 1:
        case 2:
            to = 0;
            break;
        case 3:
            to = powercut_random(machine, size + 1);
            break;
        case 4:
            from = powercut_random(machine, size + 1);
            break;
        default:
            break;
        }
        if (from < to)
            image_write(disk, change->offset + at + from, change->bytes + at + from, to - from);
        at += size;
    }
}

static void disk_survive(struct powercut *machine, struct disk *disk)
{
    /* A quarter of the cuts lose all that was not synced, a quarter keep it: both happen on real disks. */
    uint64_t style = powercut_random(machine, 4);
    for (size_t i = 0; i < disk->change_count && style != 0; i++) {
        struct change *change = &disk->changes[i];
        uint64_t fate = style == 1 ? 0 : powercut_random(machine, 3);
        if (fate == 0)
            image_apply(disk, change);
        else if (fate == 1 && change->kind == CHANGE_WRITE)
            tear(machine, disk, change);
    }
    bool there = disk->exists;
    if (disk->exists != disk->exists_durably)
        there = powercut_random(machine, 2) == 0;
    if (there)
        image_store(disk);
    else
        unlink(disk->path);
}

unsigned powercut_restore(struct powercut *machine)
{
    unsigned at_stake = 0;
    for (size_t i = 0; i < machine->disk_count; i++) {
        struct disk *disk = &machine->disks[i];
        char shm[sizeof disk->path + 4];
        at_stake += (unsigned)disk->change_count;
        if (machine->off) {
            disk_survive(machine, disk);
            snprintf(shm, sizeof shm, "%s-shm", disk->path);
            unlink(shm);
        }
        changes_forget(disk);
        free(disk->changes);
        free(disk->image);
    }
    machine->disk_count = 0;
    machine->off = false;
    machine->countdown = 0;
    return at_stake;
}

/* --- SQLite's files ------------------------------------------------------------------------------------------ */

/* True from the moment of the cut. The change at which it happens is noted before, so that it may survive. */
static bool power_fails(struct powercut *machine)
{
    if (!machine->off && machine->countdown > 0 && --machine->countdown == 0)
        machine->off = true;
    return machine->off;
}

static struct cut_file *cut_file_of(sqlite3_file *file)
{
    return (struct cut_file *)file;
}

static int cut_close(sqlite3_file *file)
{
    struct cut_file *f = cut_file_of(file);
    return f->real->pMethods->xClose(f->real);
}

static int cut_read(sqlite3_file *file, void *bytes, int size, sqlite3_int64 offset)
{
    struct cut_file *f = cut_file_of(file);
    if (f->machine->off)
        return SQLITE_IOERR_READ;
    return f->real->pMethods->xRead(f->real, bytes, size, offset);
}

static int cut_write(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 offset)
{
    struct cut_file *f = cut_file_of(file);
    if (f->machine->off)
        return SQLITE_IOERR_WRITE;
    if (f->machine->fault == POWERCUT_DISK_FULL)
        return SQLITE_FULL;
    if (f->disk)
        change_note(f->disk, CHANGE_WRITE, (size_t)offset, bytes, (size_t)size);
    if (f->disk && power_fails(f->machine))
        return SQLITE_IOERR_WRITE;
    return f->real->pMethods->xWrite(f->real, bytes, size, offset);
}

static int cut_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    struct cut_file *f = cut_file_of(file);
    if (f->machine->off)
        return SQLITE_IOERR_TRUNCATE;
    if (f->disk)
        change_note(f->disk, CHANGE_TRUNCATE, (size_t)size, NULL, 0);
    if (f->disk && power_fails(f->machine))
        return SQLITE_IOERR_TRUNCATE;
    return f->real->pMethods->xTruncate(f->real, size);
}

static int cut_sync(sqlite3_file *file, int flags)
{
    struct cut_file *f = cut_file_of(file);
    if (f->machine->off || (f->disk && power_fails(f->machine)))
        return SQLITE_IOERR_FSYNC;
    if (f->machine->fault == POWERCUT_SYNC_FAILED)
        return SQLITE_IOERR_FSYNC;
    if (!f->disk)
        return SQLITE_OK;
    for (size_t i = 0; i < f->disk->change_count; i++)
        image_apply(f->disk, &f->disk->changes[i]);
    changes_forget(f->disk);
    if (f->is_log)
        directory_sync(f->machine);
    f->is_log = false;
    return SQLITE_OK;
}

static int cut_file_size(sqlite3_file *file, sqlite3_int64 *size)
{
    struct cut_file *f = cut_file_of(file);
    return f->real->pMethods->xFileSize(f->real, size);
}

static int cut_lock(sqlite3_file *file, int level)
{
    struct cut_file *f = cut_file_of(file);
    return f->real->pMethods->xLock(f->real, level);
}

static int cut_unlock(sqlite3_file *file, int level)
{
    struct cut_file *f = cut_file_of(file);
    return f->real->pMethods->xUnlock(f->real, level);
}

static int cut_check_lock(sqlite3_file *file, int *held)
{
    struct cut_file *f = cut_file_of(file);
    return f->real->pMethods->xCheckReservedLock(f->real, held);
}

static int cut_control(sqlite3_file *file, int operation, void *argument)
{
    struct cut_file *f = cut_file_of(file);
    return f->real->pMethods->xFileControl(f->real, operation, argument);
}

static int cut_sector_size(sqlite3_file *file)
{
    struct cut_file *f = cut_file_of(file);
    return f->real->pMethods->xSectorSize(f->real);
}

static int cut_characteristics(sqlite3_file *file)
{
    struct cut_file *f = cut_file_of(file);
    return f->real->pMethods->xDeviceCharacteristics(f->real);
}

static int cut_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **memory)
{
    struct cut_file *f = cut_file_of(file);
    return f->real->pMethods->xShmMap(f->real, page, size, extend, memory);
}

static int cut_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    struct cut_file *f = cut_file_of(file);
    return f->real->pMethods->xShmLock(f->real, offset, count, flags);
}

static void cut_shm_barrier(sqlite3_file *file)
{
    struct cut_file *f = cut_file_of(file);
    f->real->pMethods->xShmBarrier(f->real);
}

static int cut_shm_unmap(sqlite3_file *file, int remove)
{
    struct cut_file *f = cut_file_of(file);
    return f->real->pMethods->xShmUnmap(f->real, remove);
}

/* Version 2: without xFetch SQLite reads through cut_read. */
static const sqlite3_io_methods cut_methods = {
    .iVersion = 2,
    .xClose = cut_close,
    .xRead = cut_read,
    .xWrite = cut_write,
    .xTruncate = cut_truncate,
    .xSync = cut_sync,
    .xFileSize = cut_file_size,
    .xLock = cut_lock,
    .xUnlock = cut_unlock,
    .xCheckReservedLock = cut_check_lock,
    .xFileControl = cut_control,
    .xSectorSize = cut_sector_size,
    .xDeviceCharacteristics = cut_characteristics,
    .xShmMap = cut_shm_map,
    .xShmLock = cut_shm_lock,
    .xShmBarrier = cut_shm_barrier,
    .xShmUnmap = cut_shm_unmap,
};

/* --- the VFS --------------------------------------------------------------------------------------------------- */

static int cut_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    struct powercut *machine = vfs->pAppData;
    struct cut_file *f = cut_file_of(file);
    *f = (struct cut_file){.machine = machine, .real = (sqlite3_file *)(f + 1)};
    if (machine->off)
        return SQLITE_CANTOPEN;
    /* Before the real open, which may create the file. */
    if (name && flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL))
        f->disk = disk_open(machine, name);
    f->is_log = (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL)) != 0;
    int code = machine->real->xOpen(machine->real, name, f->real, flags, out);
    if (code != SQLITE_OK)
        return code;
    f->base.pMethods = &cut_methods;
    if (f->disk)
        f->disk->exists = true;
    return SQLITE_OK;
}

static int cut_delete(sqlite3_vfs *vfs, const char *name, int sync_directory)
{
    struct powercut *machine = vfs->pAppData;
    struct disk *disk = disk_find(machine, name);
    if (machine->off)
        return SQLITE_IOERR_DELETE;
    if (disk) {
        change_note(disk, CHANGE_TRUNCATE, 0, NULL, 0);
        disk->exists = false;
    }
    if (power_fails(machine))
        return SQLITE_IOERR_DELETE;
    if (sync_directory)
        directory_sync(machine);
    return machine->real->xDelete(machine->real, name, 0);
}

static int cut_access(sqlite3_vfs *vfs, const char *name, int flags, int *result)
{
    struct powercut *machine = vfs->pAppData;
    return machine->real->xAccess(machine->real, name, flags, result);
}

static int cut_full_path(sqlite3_vfs *vfs, const char *name, int size, char *out)
{
    struct powercut *machine = vfs->pAppData;
    return machine->real->xFullPathname(machine->real, name, size, out);
}

static int cut_randomness(sqlite3_vfs *vfs, int size, char *out)
{
    struct powercut *machine = vfs->pAppData;
    return machine->real->xRandomness(machine->real, size, out);
}

static int cut_sleep(sqlite3_vfs *vfs, int microseconds)
{
    return 0;
}

static int cut_time(sqlite3_vfs *vfs, double *now)
{
    struct powercut *machine = vfs->pAppData;
    return machine->real->xCurrentTime(machine->real, now);
}

static int cut_last_error(sqlite3_vfs *vfs, int size, char *out)
{
    return 0;
}

struct powercut *powercut_new(const char *name, uint64_t seed)
{
    struct powercut *machine = must(calloc(1, sizeof *machine));
    machine->real = must(sqlite3_vfs_find(NULL));
    /* Spreads neighbouring seeds; xorshift must not start at zero. */
    machine->random = (seed + 1) * 0x9e3779b97f4a7c15u | 1;
    machine->vfs = (sqlite3_vfs){
        .iVersion = 1,
        .szOsFile = (int)sizeof(struct cut_file) + machine->real->szOsFile,
        .mxPathname = machine->real->mxPathname,
        .zName = name,
        .pAppData = machine,
        .xOpen = cut_open,
        .xDelete = cut_delete,
        .xAccess = cut_access,
        .xFullPathname = cut_full_path,
        .xRandomness = cut_randomness,
        .xSleep = cut_sleep,
        .xCurrentTime = cut_time,
        .xGetLastError = cut_last_error,
    };
    if (sqlite3_vfs_register(&machine->vfs, 0) != SQLITE_OK)
        abort();
    return machine;
}

void powercut_free(struct powercut *machine)
{
    powercut_restore(machine);
    sqlite3_vfs_unregister(&machine->vfs);
    free(machine);
}

void powercut_arm(struct powercut *machine, unsigned count)
{
    machine->countdown = count;
}

bool powercut_is_off(const struct powercut *machine)
{
    return machine->off;
}

void powercut_break(struct powercut *machine, enum powercut_fault fault)
{
    machine->fault = fault;
}
