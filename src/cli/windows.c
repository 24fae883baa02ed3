/* See windows.h. Main thread, before the loop. */
#include "cli/windows.h"

#include "cli/gateway.h"
#include "cli/measure.h"
#include "config/presets.h"
#include "os/clock.h"

/* What a server may claim: less holds no prompt, and no model has more. */
enum { TOLD_LEAST = 1024, TOLD_MOST = 20000000 };

static void ask(struct wire *wire, size_t i, int64_t ms)
{
    const struct config *config = wire_config(wire);
    const struct model_settings *model = &config->settings.models[i];
    const struct provider_bounds *bounds = wire_provider(wire, model->provider, model->base_url);
    struct gateway_headers headers;
    struct err unused = ERR_INIT;
    struct buf key;
    /* A helper program may ask a person, and the run's first request runs it once for all. */
    if (bounds != NULL && bounds->api_key_cmd.state == LIST_SET)
        return;
    buf_init(&key, 16384);
    gateway_headers_init(&headers);
    /* A key that cannot be had is told by the run's first request. */
    if (gateway_headers_make(&headers, bounds, &unused) == 0 &&
        wire_key(wire, bounds, model->api_key_env, &key, &unused) == 0) {
        gateway_headers_key(&headers, model->api, buf_view(&key));
        const struct measure_request request = {.base_url = model->base_url,
                                                .model = model->model,
                                                .headers = headers.lines,
                                                .header_count = headers.count,
                                                .fetch = wire_fetch};
        bool hosted = preset_of_host(model->base_url) != NULL;
        int64_t tokens =
            measure_told_window(&request, hosted ? MEASURE_MODELS_ALONE : MEASURE_EVERY_PATH, ms);
        if (tokens >= TOLD_LEAST && tokens <= TOLD_MOST)
            wire_learn_window(wire, i, tokens);
    }
    if (key.p != NULL)
        explicit_bzero(key.p, key.capacity);
    buf_release(&key);
    gateway_headers_release(&headers);
}

void windows_ask(struct wire *wire)
{
    const struct config *config = wire_config(wire);
    int64_t end = clock_monotonic_ms() + WINDOWS_MS;
    for (size_t i = 0; i < config->settings.model_count; i++) {
        int64_t left = end - clock_monotonic_ms();
        if (left > 0 && config_window_missing(config, i) &&
            list_has(&config->settings.allowed_models, config->settings.models[i].name))
            ask(wire, i, left);
    }
}
