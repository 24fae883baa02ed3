/* See verdict.h. One table of readings: a line that has the marker has a number before or behind a word. Readings of one format are
 * collected over all lines; the first format of the table that said anything counts. */
#include "tool/verdict.h"

#include "base/utf8.h"

#define NUMBER_MAX 1000000000

enum format {
    FORMAT_CARGO,
    FORMAT_CTEST,
    FORMAT_MAVEN,
    FORMAT_PHPUNIT,
    FORMAT_JEST,
    FORMAT_PYTEST,
    FORMAT_UNITTEST,
    FORMAT_MESON,
    FORMAT_DOTNET,
    FORMAT_RSPEC,
    FORMAT_MOCHA,
    FORMAT_NODE,
    FORMAT_GTEST,
    FORMAT_GO,
    FORMAT_TAP,
    FORMAT_COUNT
};

static const char *const format_names[FORMAT_COUNT] = {
    "cargo",  "ctest", "maven", "phpunit", "jest",  "pytest", "unittest", "meson",
    "dotnet", "rspec", "mocha", "node",    "gtest", "go",     "TAP"};

struct reading {
    enum format format;
    const char *marker; /* in the line; with ^ at its start, spaces aside */
    const char *word;
    enum { BEFORE, BEHIND, LINE } place; /* of the number; LINE: the line itself counts one */
    enum { PASSED, FAILED, TOTAL, READS } reads;
    enum { LAST, SUM } lines; /* the last line holds, or they add up */
};

static const struct reading readings[] = {
    {FORMAT_CARGO, "^test result:", " passed", BEFORE, PASSED, SUM},
    {FORMAT_CARGO, "^test result:", " failed", BEFORE, FAILED, SUM},
    {FORMAT_CTEST, " tests failed out of ", " tests failed", BEFORE, FAILED, LAST},
    {FORMAT_CTEST, " tests failed out of ", "out of ", BEHIND, TOTAL, LAST},
    {FORMAT_MAVEN, "^Tests run:", "Tests run:", BEHIND, TOTAL, LAST},
    {FORMAT_MAVEN, "^Tests run:", "Failures:", BEHIND, FAILED, LAST},
    {FORMAT_MAVEN, "^Tests run:", "Errors:", BEHIND, FAILED, LAST},
    {FORMAT_PHPUNIT, "Assertions:", "^Tests:", BEHIND, TOTAL, LAST},
    {FORMAT_PHPUNIT, "Assertions:", "Failures:", BEHIND, FAILED, LAST},
    {FORMAT_PHPUNIT, "Assertions:", "Errors:", BEHIND, FAILED, LAST},
    {FORMAT_PHPUNIT, "^OK (", " test", BEFORE, TOTAL, LAST},
    {FORMAT_JEST, "^Tests", " passed", BEFORE, PASSED, LAST},
    {FORMAT_JEST, "^Tests", " failed", BEFORE, FAILED, LAST},
    {FORMAT_PYTEST, " in ", " passed", BEFORE, PASSED, LAST},
    {FORMAT_PYTEST, " in ", " failed", BEFORE, FAILED, LAST},
    {FORMAT_PYTEST, " in ", " error", BEFORE, FAILED, LAST},
    {FORMAT_UNITTEST, "^Ran ", "Ran ", BEHIND, TOTAL, LAST},
    {FORMAT_UNITTEST, "^FAILED (", "failures=", BEHIND, FAILED, LAST},
    {FORMAT_UNITTEST, "^FAILED (", "errors=", BEHIND, FAILED, LAST},
    {FORMAT_MESON, "^Ok:", "Ok:", BEHIND, PASSED, LAST},
    {FORMAT_MESON, "^Fail:", "Fail:", BEHIND, FAILED, LAST},
    {FORMAT_DOTNET, "Total:", "Passed:", BEHIND, PASSED, SUM},
    {FORMAT_DOTNET, "Total:", "Failed:", BEHIND, FAILED, SUM},
    {FORMAT_RSPEC, " example", " example", BEFORE, TOTAL, LAST},
    {FORMAT_RSPEC, " example", " failure", BEFORE, FAILED, LAST},
    {FORMAT_MOCHA, " passing", " passing", BEFORE, PASSED, LAST},
    {FORMAT_MOCHA, " failing", " failing", BEFORE, FAILED, LAST},
    {FORMAT_NODE, "^# pass ", "# pass ", BEHIND, PASSED, LAST},
    {FORMAT_NODE, "^# fail ", "# fail ", BEHIND, FAILED, LAST},
    {FORMAT_GTEST, "^[  PASSED  ]", "[  PASSED  ]", BEHIND, PASSED, SUM},
    {FORMAT_GTEST, "^[  FAILED  ]", "[  FAILED  ]", BEHIND, FAILED, SUM},
    {FORMAT_GO, "^ok  \t", "", LINE, PASSED, SUM},
    {FORMAT_GO, "^FAIL\t", "", LINE, FAILED, SUM},
    {FORMAT_TAP, "^ok ", "", LINE, PASSED, SUM},
    {FORMAT_TAP, "^not ok ", "", LINE, FAILED, SUM},
};

static const char *const failure_words[] = {
    "FAIL",      "not ok ", "AssertionError",      "Assertion", "error:",
    "Error:",    "ERROR",   "panicked at",         "✕",         "✗",
    "Traceback", "fatal:",  "undefined reference",
};

struct tally {
    int64_t numbers[READS];
    bool known[READS];
};

static const char *find(struct str line, const char *word)
{
    if (word[0] == '^') {
        while (line.n > 0 && line.p[0] == ' ') {
            line.p++;
            line.n--;
        }
        return str_starts(line, str_from(word + 1)) ? line.p : NULL;
    }
    return line.n > 0 ? memmem(line.p, line.n, word, strlen(word)) : NULL;
}

static bool read_digits(const char *from, const char *end, int64_t *number)
{
    int64_t sum = 0;
    const char *at = from;
    for (; at < end && *at >= '0' && *at <= '9' && sum < NUMBER_MAX; at++)
        sum = sum * 10 + (*at - '0');
    *number = sum;
    return at > from;
}

/* The number beside the word; false when there is none. */
static bool read_number(struct str line, const struct reading *reading, int64_t *number)
{
    const char *end = line.p + line.n, *word = find(line, reading->word);
    if (word == NULL)
        return false;
    if (reading->place == BEHIND) {
        const char *from = word + strlen(reading->word) - (reading->word[0] == '^');
        while (from < end && *from == ' ')
            from++;
        return read_digits(from, end, number);
    }
    const char *from = word;
    while (from > line.p && from[-1] >= '0' && from[-1] <= '9')
        from--;
    return read_digits(from, word, number);
}

/* A line may have several readings of one thing: failures and errors add up, whatever the line before said. */
static void read_line(struct str line, struct tally *tallies)
{
    bool fresh[FORMAT_COUNT][READS] = {{false}};
    for (size_t i = 0; i < sizeof readings / sizeof readings[0]; i++) {
        const struct reading *reading = &readings[i];
        struct tally *tally = &tallies[reading->format];
        int64_t number = 1;
        if (find(line, reading->marker) == NULL ||
            (reading->place != LINE && !read_number(line, reading, &number)))
            continue;
        bool adds = reading->lines == SUM || fresh[reading->format][reading->reads];
        tally->numbers[reading->reads] = (adds ? tally->numbers[reading->reads] : 0) + number;
        tally->known[reading->reads] = fresh[reading->format][reading->reads] = true;
    }
}

static bool tells_failure(struct str line)
{
    for (size_t i = 0; i < sizeof failure_words / sizeof failure_words[0]; i++)
        if (find(line, failure_words[i]) != NULL)
            return true;
    return false;
}

static void keep_line(struct verdict *verdict, struct str line)
{
    if (verdict->line_count == VERDICT_LINES) {
        memmove(verdict->lines, verdict->lines + 1, (VERDICT_LINES - 1) * sizeof line);
        verdict->line_count--;
    }
    verdict->lines[verdict->line_count++] = utf8_cut(line, VERDICT_LINE_MAX);
}

void verdict_read(struct str text, struct verdict *verdict)
{
    struct tally tallies[FORMAT_COUNT] = {{{0}, {false}}};
    const char *at = text.p, *end = text.p + text.n;
    *verdict = (struct verdict){.format = NULL};
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        struct str line = {at, newline != NULL ? (size_t)(newline - at) : (size_t)(end - at)};
        read_line(line, tallies);
        if (tells_failure(line))
            keep_line(verdict, line);
        at += line.n + 1;
    }
    for (size_t i = 0; i < FORMAT_COUNT && verdict->format == NULL; i++) {
        const struct tally *tally = &tallies[i];
        if (!tally->known[PASSED] && !tally->known[FAILED] && !tally->known[TOTAL])
            continue;
        verdict->format = format_names[i];
        verdict->failed = tally->numbers[FAILED];
        verdict->passed = tally->known[TOTAL] && tally->numbers[TOTAL] >= tally->numbers[FAILED]
                              ? tally->numbers[TOTAL] - tally->numbers[FAILED]
                              : tally->numbers[PASSED];
    }
}
