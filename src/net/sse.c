/* The parser of server-sent events. A line that ends in the current input is read in place; only
 * what the input leaves unfinished is copied, into buffers with a maximum. Each byte is looked at
 * once for LF and once for CR. Does not interpret data and does not reconnect. Runs on the thread
 * that feeds it. */
#include "net/sse.h"

void sse_init(struct sse *sse, sse_fn *fn, void *user)
{
    *sse = (struct sse){.fn = fn, .user = user, .first_line = true, .retry_ms = -1};
    buf_init(&sse->line, SSE_LINE_MAX);
    buf_init(&sse->data, SSE_DATA_MAX);
    buf_init(&sse->type, SSE_NAME_MAX);
    buf_init(&sse->id, SSE_NAME_MAX);
}

void sse_release(struct sse *sse)
{
    buf_release(&sse->line);
    buf_release(&sse->data);
    buf_release(&sse->type);
    buf_release(&sse->id);
}

/* The event's data may no longer point into input that is about to go. */
static void keep_data(struct sse *sse)
{
    if (sse->view.p) {
        buf_str(&sse->data, sse->view);
        sse->view = STR_NONE;
    }
}

static void add_data(struct sse *sse, struct str value)
{
    if (!sse->has_data) {
        sse->has_data = true;
        sse->view = value;
        return;
    }
    keep_data(sse);
    buf_char(&sse->data, '\n');
    buf_str(&sse->data, value);
}

static void deliver(struct sse *sse)
{
    if (sse->has_data) {
        const struct sse_event event = {
            .type = buf_view(&sse->type),
            .data = sse->view.p ? sse->view : buf_view(&sse->data),
            .id = buf_view(&sse->id),
            .retry_ms = sse->retry_ms,
        };
        if (sse->fn(sse->user, &event) == SSE_STOP)
            sse->state = SSE_STOPPED;
    }
    sse->has_data = false;
    sse->view = STR_NONE;
    buf_clear(&sse->data);
    buf_clear(&sse->type);
}

static void set_retry(struct sse *sse, struct str value)
{
    int64_t ms = 0;
    if (value.n == 0 || value.n > 15)
        return;
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] < '0' || value.p[i] > '9')
            return;
        ms = ms * 10 + (value.p[i] - '0');
    }
    sse->retry_ms = ms;
}

static void replace(struct buf *buf, struct str value)
{
    buf_clear(buf);
    buf_str(buf, value);
}

static void read_line(struct sse *sse, struct str line)
{
    if (sse->first_line) {
        sse->first_line = false;
        if (str_starts(line, STR("\xEF\xBB\xBF")))
            line = (struct str){line.p + 3, line.n - 3};
    }
    if (line.n == 0) {
        deliver(sse);
        return;
    }
    const char *colon = memchr(line.p, ':', line.n);
    struct str field = {line.p, colon ? (size_t)(colon - line.p) : line.n};
    struct str value = {line.p + line.n, 0};
    if (colon) {
        value = (struct str){colon + 1, line.n - field.n - 1};
        if (value.n > 0 && value.p[0] == ' ')
            value = (struct str){value.p + 1, value.n - 1};
    }
    if (str_is(field, "data"))
        add_data(sse, value);
    else if (str_is(field, "event"))
        replace(&sse->type, value);
    else if (str_is(field, "id") && (value.n == 0 || !memchr(value.p, '\0', value.n)))
        replace(&sse->id, value);
    else if (str_is(field, "retry"))
        set_retry(sse, value);
}

static int check_limits(struct sse *sse, size_t line, struct err *err)
{
    const char *what = NULL;
    if (sse->line.failed || line > SSE_LINE_MAX)
        what = "a line of more than 16 MB";
    else if (sse->data.failed)
        what = "an event of more than 16 MB";
    else if (sse->type.failed || sse->id.failed)
        what = "an event name or id of more than 1 KB";
    if (!what)
        return 0;
    sse->state = SSE_BROKEN;
    return err_set(err, ERR_RETRY, "the server's event stream holds %s", what);
}

/* Ends the line whose last part is `part`; the first part may stand in sse->line. */
static int end_line(struct sse *sse, struct str part, struct err *err)
{
    if (sse->line.n == 0) {
        if (check_limits(sse, part.n, err) != 0)
            return -1;
        read_line(sse, part);
    } else {
        buf_str(&sse->line, part);
        if (check_limits(sse, 0, err) != 0)
            return -1;
        read_line(sse, buf_view(&sse->line));
        keep_data(sse);
        buf_clear(&sse->line);
    }
    return check_limits(sse, 0, err);
}

static const char *find(const char *from, const char *end, char c)
{
    const char *at = from < end ? memchr(from, c, (size_t)(end - from)) : NULL;
    return at ? at : end;
}

static int broken(struct err *err)
{
    return err_set(err, ERR_RETRY, "the server's event stream is past its limits");
}

int sse_feed(struct sse *sse, struct str bytes, struct err *err)
{
    if (sse->state == SSE_BROKEN)
        return broken(err);
    if (sse->state == SSE_STOPPED || bytes.n == 0)
        return 0;
    const char *at = bytes.p, *end = bytes.p + bytes.n;
    if (sse->skip_lf && *at == '\n')
        at++;
    sse->skip_lf = false;
    const char *lf = find(at, end, '\n'), *cr = find(at, end, '\r');
    while (lf < end || cr < end) {
        const char *stop = lf < cr ? lf : cr;
        if (end_line(sse, (struct str){at, (size_t)(stop - at)}, err) != 0)
            return -1;
        if (sse->state == SSE_STOPPED)
            return 0;
        at = stop + 1;
        if (stop == cr) {
            if (at == end)
                sse->skip_lf = true;
            else if (lf == at)
                at++;
            cr = find(at, end, '\r');
        }
        if (lf < at)
            lf = find(at, end, '\n');
    }
    keep_data(sse);
    buf_add(&sse->line, at, (size_t)(end - at));
    return check_limits(sse, 0, err);
}

int sse_finish(struct sse *sse, struct err *err)
{
    if (sse->state == SSE_BROKEN)
        return broken(err);
    if (sse->state == SSE_OPEN && sse->line.n > 0 && end_line(sse, STR(""), err) != 0)
        return -1;
    if (sse->state == SSE_OPEN) {
        deliver(sse);
        sse->state = SSE_STOPPED;
    }
    return 0;
}
