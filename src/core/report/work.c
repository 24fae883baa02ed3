/* What became of an agent's work, and where its report goes. Pure. */
#include "core/report/report.h"

/* A checkout of a repository that is cadre's own lies in it, at trees/RUN/NAME. */
#define CHECKOUT_DEPTH 3

bool report_stands_alone(const struct agent *child)
{
    return child->tree != NULL || child->contract.outputs.gate == GATE_RUN;
}

bool report_fails_gate(const struct agent *child)
{
    return child->contract.outputs.gate == GATE_RUN && child->phase == PHASE_DONE &&
           !ending_worked(child->outcome);
}

/* Fills in what stands between < and >. */
struct str report_path(const struct run *run, const struct agent *child, struct arena *arena)
{
    return run_report_path(run, child, arena);
}

struct str report_run_path(const struct run *run, struct arena *arena)
{
    return arena_printf(arena, REPORT_DIRECTORY "/%.*s/" REPORT_RUN_NAME, STR_FMT(run_id(run)));
}

/* What a merge's word means for the work. Any other word: it was not merged. */
static const struct {
    const char *merge, *work;
} ways_out[] = {
    {"no_changes", "unchanged"}, {"in_place", "in_place"},    {"fast_forward", "merged"},
    {"three_way", "merged"},     {"merged_before", "merged"},
};

struct str report_work(const struct agent *agent)
{
    const struct tree *tree = agent->tree;
    if (tree == NULL || tree->state == TREE_NONE)
        return STR_NONE;
    if (tree->kept.n > 0)
        return STR("kept");
    if (tree->state != TREE_GONE)
        return tree->state == TREE_IN_PLACE ? STR("in_place") : STR("open");
    for (size_t i = 0; i < sizeof ways_out / sizeof ways_out[0]; i++)
        if (str_is(tree->merge, ways_out[i].merge))
            return str_from(ways_out[i].work);
    return STR("refused");
}

/* For a shell. */
static void add_word(struct buf *out, struct str word)
{
    buf_char(out, '\'');
    for (size_t i = 0; i < word.n; i++) {
        if (word.p[i] == '\'')
            buf_text(out, "'\\''");
        else
            buf_char(out, word.p[i]);
    }
    buf_char(out, '\'');
}

struct str report_command(const struct agent *agent, struct arena *arena)
{
    const struct tree *tree = agent->tree;
    struct buf out;
    if (tree == NULL || tree->kept.n == 0)
        return STR_NONE;
    struct str repository = tree->path;
    for (int i = 0; i < CHECKOUT_DEPTH && repository.n > 0; i++) {
        const char *slash = memrchr(repository.p, '/', repository.n);
        repository.n = slash != NULL ? (size_t)(slash - repository.p) : 0;
    }
    buf_init(&out, 65536);
    buf_text(&out, "git ");
    if (str_is(tree->strategy, "copy")) {
        buf_text(&out, "--git-dir=");
        add_word(&out, repository);
        buf_char(&out, ' ');
    }
    buf_printf(&out, "diff %.*s %.*s", STR_FMT(tree->base_ref), STR_FMT(tree->kept));
    struct str command = arena_copy(arena, buf_view(&out));
    buf_release(&out);
    return command;
}
