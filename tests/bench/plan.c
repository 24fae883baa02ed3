/* Reads a plan and makes the bodies of its requests. Sends nothing. No thread of its own. */
#include "plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int phase_parse(char *line, struct phase *phase)
{
    char *rest = NULL;
    const char *kind = strtok_r(line, " \n", &rest);
    const char *agents = strtok_r(NULL, " \n", &rest);
    const char *first = strtok_r(NULL, " \n", &rest);
    if (!kind || !agents || !first || strlen(kind) != 4)
        return -1;
    memcpy(phase->kind, kind, 5);
    phase->agents = strtoul(agents, NULL, 10);
    phase->first = strtoul(first, NULL, 10);
    const char *size;
    while ((size = strtok_r(NULL, " \n", &rest)) && phase->turns < PLAN_TURNS_MAX)
        phase->sizes[phase->turns++] = strtoul(size, NULL, 10);
    for (size_t i = 0; i < phase->turns; i++)
        if (phase->sizes[i] > PLAN_BODY_MAX)
            return -1;
    return phase->agents > 0 && phase->agents <= PLAN_AGENTS_MAX && phase->turns > 0 ? 0 : -1;
}

int plan_read(struct plan *plan, const char *path)
{
    char line[1024];
    int result = -1;
    *plan = (struct plan){.phases = calloc(PLAN_PHASES_MAX, sizeof *plan->phases)};
    FILE *file = fopen(path, "re");
    if (!file || !plan->phases) {
        fprintf(stderr, "cannot read %s: %s\n", path, strerror(errno));
        goto out;
    }
    while (fgets(line, sizeof line, file)) {
        if (plan->count == PLAN_PHASES_MAX || phase_parse(line, &plan->phases[plan->count]) != 0) {
            fprintf(stderr, "%s, line %zu: no phase\n", path, plan->count + 1);
            goto out;
        }
        const struct phase *phase = &plan->phases[plan->count++];
        plan->requests += phase->agents * phase->turns;
        if (phase->agents > plan->agents_max)
            plan->agents_max = phase->agents;
    }
    result = plan->count > 0 ? 0 : -1;
out:
    if (file)
        fclose(file);
    if (result != 0)
        plan_free(plan);
    return result;
}

void plan_free(struct plan *plan)
{
    free(plan->phases);
    *plan = (struct plan){0};
}

/* A growing text is not needed: the length of everything but the padding is known beforehand. */
static char *body_make(const struct phase *phase, size_t assistants, size_t *size)
{
    static const char head[] =
        "{\"model\":\"bench\",\"messages\":[{\"role\":\"user\",\"content\":\"";
    static const char answer[] = "\"},{\"role\":\"assistant\",\"content\":\"";
    static const char tail[] = "\"}],\"stream\":true}";
    size_t least = sizeof head - 1 + 4 + assistants * (sizeof answer - 1) + sizeof tail - 1;
    if (*size < least)
        *size = least;
    char *body = malloc(*size + 1), *at = body;
    if (!body)
        abort();
    at = mempcpy(at, head, sizeof head - 1);
    at = mempcpy(at, phase->kind, 4);
    for (size_t i = 0; i < assistants; i++)
        at = mempcpy(at, answer, sizeof answer - 1);
    memset(at, 'x', *size - least);
    at += *size - least;
    memcpy(at, tail, sizeof tail);
    return body;
}

void phase_bodies_make(struct phase *phase)
{
    for (size_t i = 0; i < phase->turns; i++)
        phase->bodies[i] = body_make(phase, phase->first + i, &phase->sizes[i]);
}

void phase_bodies_free(struct phase *phase)
{
    for (size_t i = 0; i < phase->turns; i++) {
        free(phase->bodies[i]);
        phase->bodies[i] = NULL;
    }
}

int port_parse(const char *text)
{
    char *end;
    long port = strtol(text, &end, 10);
    return *end == 0 && port > 0 && port < 65536 ? (int)port : -1;
}
