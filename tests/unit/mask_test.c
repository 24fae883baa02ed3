/* base/mask and base/secret: which texts are secrets, which are not, and what stands in their place. Keys are made here, so that no
 * file of the repository holds one. */
#include <stdio.h>
#include <stdlib.h>

#include "base/mask.h"
#include "base/secret.h"
#include "check.h"

static const uint8_t process_key[MASK_KEY_BYTES] = {1, 2, 3};

#define ALNUM "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
#define TOKEN ALNUM "_-"
#define HEX "0123456789abcdef"
#define BASE32 "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
#define BASE64 ALNUM "+/"

/* Text of a generator; letters and digits stand at both ends. */
static void make_body(char *out, const char *chars, size_t n, unsigned seed)
{
    size_t count = strlen(chars);
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1103515245 + 12345;
        out[i] = chars[(seed >> 16) % count];
        if ((i == 0 || i + 1 == n) && strchr("_-+/", out[i]) != NULL)
            out[i] = 'Q';
    }
    out[n] = '\0';
}

static size_t mask(const struct masker *masker, struct str text, struct buf *out)
{
    buf_init(out, 1 << 20);
    buf_str(out, text);
    return masker_apply(masker, out);
}

static void check_unmasked(const struct masker *masker, struct str text)
{
    struct buf out;
    size_t count = mask(masker, text, &out);
    if (count != 0 || !str_eq(buf_view(&out), text))
        fail_msg("masked: %.*s", STR_FMT(buf_view(&out)));
    buf_release(&out);
}

static const struct vendor {
    const char *kind, *prefix, *chars;
    size_t n;
} vendors[] = {
    {"openai-key", "sk-", ALNUM, 48},
    {"openai-key", "sk-proj-", TOKEN, 150},
    {"openai-key", "sk-svcacct-", TOKEN, 150},
    {"openai-key", "sk-", HEX, 32}, /* several vendors that speak OpenAI's API */
    {"anthropic-key", "sk-ant-api03-", TOKEN, 95},
    {"openrouter-key", "sk-or-v1-", HEX, 64},
    {"github-token", "ghp_", ALNUM, 36},
    {"github-token", "gho_", ALNUM, 36},
    {"github-token", "ghs_", ALNUM, 36},
    {"github-token", "github_pat_", ALNUM "_", 82},
    {"gitlab-token", "glpat-", TOKEN, 20},
    {"aws-key-id", "AKIA", BASE32, 16},
    {"aws-key-id", "ASIA", BASE32, 16},
    {"google-key", "AIza", TOKEN, 35},
    {"google-token", "ya29.", TOKEN, 120},
    {"slack-token", "xoxb-123456789012-1234567890123-", ALNUM, 24},
    {"slack-token", "xoxp-", TOKEN, 60},
    {"slack-webhook", "hooks.slack.com/services/", ALNUM, 44},
    {"stripe-key", "sk_live_", ALNUM, 24},
    {"stripe-key", "rk_live_", ALNUM, 99},
    {"npm-token", "npm_", ALNUM, 36},
    {"huggingface-token", "hf_", ALNUM, 34},
    {"pypi-token", "pypi-AgEIcHlwaS5vcmc", TOKEN, 120},
    {"groq-key", "gsk_", ALNUM, 52},
    {"xai-key", "xai-", ALNUM, 80},
    {"tavily-key", "tvly-dev-", ALNUM, 32},
    {"digitalocean-token", "dop_v1_", HEX, 64},
    {"docker-token", "dckr_pat_", TOKEN, 27},
    {"vault-token", "hvs.", ALNUM, 90},
    {"sendgrid-key", "SG.", ALNUM, 66},
};

/* Where keys stand in files and in what programs print. */
static const char *const around[][2] = {
    {"", ""},
    {"export KEY=", "\nnext"},
    {"{\"key\": \"", "\"}"},
    {"Authorization: Bearer ", "\r\n"},
    {"    12\tkey: '", "'"},
    {"first\\n", "\\nlast"},
    {"https://user:", "@host.example/x"},
    {"?key%3D", "&x=1"},
    {"(", ")."},
    {"+", ""},
    {" a\n-", "\n+"},
};

static void keys_of_vendors_are_masked_wherever_they_stand(void **state)
{
    struct masker *masker = masker_new(process_key);
    for (size_t v = 0; v < sizeof vendors / sizeof vendors[0]; v++) {
        const struct vendor *vendor = &vendors[v];
        for (size_t k = 0; k < sizeof around / sizeof around[0]; k++) {
            char body[256], text[512], expected[64];
            struct buf out;
            make_body(body, vendor->chars, vendor->n, (unsigned)(v * 31 + k));
            snprintf(text, sizeof text, "%s%s%s%s", around[k][0], vendor->prefix, body,
                     around[k][1]);
            size_t count = mask(masker, str_from(text), &out);
            snprintf(expected, sizeof expected, "[masked:%s:", vendor->kind);
            if (count != 1 || strstr(out.p, expected) == NULL || strstr(out.p, body) != NULL)
                fail_msg("%s became %s (%zu)", text, out.p, count);
            assert_true(str_starts(buf_view(&out), str_from(around[k][0])));
            buf_release(&out);
        }
    }
    masker_free(masker);
}

#define BODY "\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAu1SU1LfVLPHCozMxH2Mo\n"
#define CERTIFICATE "-----BEGIN CERTIFICATE-----" BODY "-----END CERTIFICATE-----"
#define PUBLIC_KEY "-----BEGIN PUBLIC KEY-----" BODY "-----END PUBLIC KEY-----"
#define CODE_ABOUT_KEYS                                                                            \
    "if (has(p, \"-----BEGIN PRIVATE KEY-----\"))\n    begin(p);\nelse if (has(p, "                \
    "\"-----END PRIVATE KEY-----\"))\n    end(p);\n"

static void text_that_only_looks_like_a_key_stays(void **state)
{
    static const char *const harmless[] = {
        "from sk-learn import svm; sk-fading-circle; desk-lamp task-12345678901234567890",
        "sk-spinner-container-with-a-very-long-class-name-indeed-and-more",
        "sk-a1-b2-c3-d4-e5-f6-g7-h8-i9-j10-k11-l12-m13",
        "disk-0123456789abcdef0123456789abcdef",
        "risk-4f2a9c81d07b6e35a2c4e6f801234567",
        "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "sk-ant-api03-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "export GITHUB_TOKEN=ghp_YOURTOKENHERE",
        "sk-your-api-key-goes-here-please-replace-me",
        "AKIAIOSFODNN7EXAMPLE",
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "aws_secret_access_key = os.environ['AWS_SECRET_ACCESS_KEY']",
        "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "123e4567-e89b-12d3-a456-426614174000",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
        "x/AKIAABCDEFGHIJKLMNOP/AIzaSyA0123456789abcdefghijklmnopqrstu",
        "the npm_config_registry and npm_package_json variables",
        "hf_hub_download(repo_id) hf_transfer",
        "eyJhbGciOiJIUzI1NiJ9 alone, and eyJ.eyJ.x",
        "xoxb-... is what a Slack token begins with",
        "sk_test_ keys are for tests",
        CERTIFICATE,
        PUBLIC_KEY,
        CODE_ABOUT_KEYS,
        "integrity sha512-oRBgxCvUHp1Mm8YbCwXGjPJ8T2l8iY5IxHPcDx1qLKYvKnXWqLZVwRkVQyJ0fWgbBfQq==",
        "g1thub ghp gho_ sk- AKIA AIza xox hf_ npm_ eyJ ----- -----BEGIN -----END",
        "",
    };
    struct masker *masker = masker_new(process_key);
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++)
        check_unmasked(masker, str_from(harmless[i]));
    masker_free(masker);
}

/* Random base64, hex and identifiers: a false alarm here would be one in every image or lock file. */
static void random_text_without_a_beginning_stays(void **state)
{
    static const char *const alphabets[] = {BASE64, HEX, ALNUM "_ ", ALNUM "-"};
    struct masker *masker = masker_new(process_key);
    char *text = malloc(100001);
    for (size_t a = 0; a < 4; a++) {
        make_body(text, alphabets[a], 100000, 77 + (unsigned)a);
        check_unmasked(masker, str_from(text));
    }
    free(text);
    masker_free(masker);
}

static void check_kind(struct str text, const char *kind, const char *left)
{
    struct masker *masker = masker_new(process_key);
    struct buf out;
    char expected[64];
    size_t count = mask(masker, text, &out);
    snprintf(expected, sizeof expected, "[masked:%s:", kind);
    if (count != 1 || strstr(out.p, expected) == NULL)
        fail_msg("%.*s became %s", STR_FMT(text), out.p);
    for (size_t i = 0; left[i] != '\0'; i++)
        assert_non_null(strchr(out.p, left[i]));
    assert_null(strstr(out.p, "MII"));
    buf_release(&out);
    masker_free(masker);
}

/* A private key with this text in front of each line and this break behind it. */
static void make_pem(struct buf *out, const char *front, const char *behind, const char *label)
{
    char line[80];
    buf_init(out, 1 << 16);
    buf_printf(out, "%s-----BEGIN %s-----%s", front, label, behind);
    for (unsigned i = 0; i < 12; i++) {
        make_body(line, BASE64, i < 11 ? 64 : 18, i + 5);
        memcpy(line, "MII", 3);
        buf_printf(out, "%s%s%s", front, line, behind);
    }
    buf_printf(out, "%s-----END %s-----%s", front, label, behind);
}

static void private_keys_are_masked_as_one(void **state)
{
    static const char *const labels[] = {"PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY",
                                         "EC PRIVATE KEY", "PGP PRIVATE KEY BLOCK"};
    static const char *const forms[][2] = {
        {"", "\n"},  {"     7\t", "\n"}, {"+", "\n"}, {"certs/key.pem:3:", "\n"},
        {"", "\\n"}, {"    ", "\r\n"},
    };
    for (size_t l = 0; l < sizeof labels / sizeof labels[0]; l++)
        for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++) {
            struct buf pem;
            make_pem(&pem, forms[f][0], forms[f][1], labels[l]);
            buf_text(&pem, "#!");
            check_kind(buf_view(&pem), "private-key", "#!");
            buf_release(&pem);
        }
}

static void half_a_private_key_is_masked(void **state)
{
    struct buf pem;
    make_pem(&pem, "", "\n", "RSA PRIVATE KEY");
    struct str whole = buf_view(&pem);
    check_kind((struct str){whole.p, whole.n / 2}, "private-key", "");
    check_kind((struct str){whole.p + 100, whole.n - 100}, "private-key", "");
    buf_release(&pem);
}

static void signed_tokens_are_masked(void **state)
{
    char head[64], payload[128], signature[64], text[400];
    make_body(head, TOKEN, 30, 1);
    make_body(payload, TOKEN, 90, 2);
    make_body(signature, TOKEN, 43, 3);
    snprintf(text, sizeof text, "Bearer eyJ%s.eyJ%s.%s!", head, payload, signature);
    check_kind(str_from(text), "jwt", "!");
}

static void secret_keys_of_aws_are_known_by_name_and_by_their_ids(void **state)
{
    char id[32], secret[64], text[200];
    struct buf out;
    struct masker *masker = masker_new(process_key);
    make_body(id, BASE32, 16, 9);
    make_body(secret, BASE64, 40, 10);
    static const char *const named[] = {"aws_secret_access_key = ", "\"SecretAccessKey\": \"",
                                        "AWS_SECRET_ACCESS_KEY=", "secret-access-key: '"};
    for (size_t i = 0; i < 4; i++) {
        snprintf(text, sizeof text, "%s%s\"\n", named[i], secret);
        assert_int_equal(mask(masker, str_from(text), &out), 1);
        assert_null(strstr(out.p, secret));
        buf_release(&out);
    }
    snprintf(text, sizeof text, "user,AKIA%s,%s,eu-west-1", id, secret);
    assert_int_equal(mask(masker, str_from(text), &out), 2);
    assert_null(strstr(out.p, secret));
    assert_non_null(strstr(out.p, ",eu-west-1"));
    buf_release(&out);
    masker_know(masker, "config", STR("between-them"));
    snprintf(text, sizeof text, "AKIA%s between-them %s", id, secret);
    assert_int_equal(mask(masker, str_from(text), &out), 3);
    assert_null(strstr(out.p, secret));
    buf_release(&out);
    check_unmasked(masker, str_from(secret)); /* alone, nothing tells it from other text */
    masker_free(masker);
}

static void values_that_it_was_told_are_masked_anywhere(void **state)
{
    struct masker *masker = masker_new(process_key);
    struct buf out;
    masker_know(masker, "config", STR("hunter2-hunter2"));
    masker_know(masker, "config", STR("hunter2-hunter2-longer"));
    masker_know(masker, "config", STR("short"));
    assert_int_equal(mask(masker, STR("xhunter2-hunter2y hunter2-hunter2-longer short"), &out), 2);
    assert_null(strstr(out.p, "hunter2"));
    assert_null(strstr(out.p, "-longer"));
    assert_non_null(strstr(out.p, "y "));
    assert_non_null(strstr(out.p, " short"));
    buf_release(&out);
    check_unmasked(masker, STR("hunter2-hunter"));
    masker_free(masker);
}

static void a_mask_tells_secrets_apart_and_nothing_about_them(void **state)
{
    static const uint8_t other_key[MASK_KEY_BYTES] = {9};
    struct masker *masker = masker_new(process_key), *other = masker_new(other_key);
    struct buf first, again, second, elsewhere;
    char a[64], b[64];
    strcpy(a, "ghp_");
    strcpy(b, "ghp_");
    make_body(a + 4, ALNUM, 36, 3);
    make_body(b + 4, ALNUM, 36, 4);
    mask(masker, str_from(a), &first);
    mask(masker, str_from(a), &again);
    mask(masker, str_from(b), &second);
    mask(other, str_from(a), &elsewhere);
    assert_true(str_eq(buf_view(&first), buf_view(&again)));
    assert_false(str_eq(buf_view(&first), buf_view(&second)));
    assert_false(str_eq(buf_view(&first), buf_view(&elsewhere)));
    check_unmasked(masker, buf_view(&first)); /* masked twice is masked once */
    buf_release(&first);
    buf_release(&again);
    buf_release(&second);
    buf_release(&elsewhere);
    masker_free(masker);
    masker_free(other);
}

static void masks_are_found_and_other_brackets_are_not(void **state)
{
    static const char *const none[] = {"[masked:openai-key:3f2]",  "[masked:openai-key:3F2A]",
                                       "[masked::3f2a]",           "[masked:KIND:HASH]",
                                       "[masked:openai-key:3f2a",  "masked:openai-key:3f2a]",
                                       "[2 secrets masked]",       "[masked:",
                                       "[masked:with space:3f2a]", ""};
    struct str found;
    assert_true(mask_find(STR("[masked: key = [masked:openai-key:3f2a]\n"), &found));
    check_str(found, "[masked:openai-key:3f2a]");
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        assert_false(mask_find(str_from(none[i]), &found));
}

/* Whatever the place at which output is cut: the pending bytes of the first piece are kept for the second, and nothing of the key is
 * seen. */
static void a_secret_in_two_pieces_is_held_back(void **state)
{
    struct masker *masker = masker_new(process_key);
    struct buf pem, whole;
    char body[64];
    masker_know(masker, "config", STR("correct horse battery"));
    make_body(body, ALNUM, 36, 8);
    make_pem(&pem, "", "\n", "PRIVATE KEY");
    buf_init(&whole, 1 << 16);
    buf_printf(&whole, "a b\ntoken=ghp_%s c\npass: correct horse battery.\n%.*s\nend 50%%", body,
               STR_FMT(buf_view(&pem)));
    for (size_t cut = 0; cut <= whole.n; cut++) {
        struct buf out, rest;
        size_t pending = masker_pending(masker, (struct str){whole.p, cut});
        assert_true(pending <= cut);
        size_t count = mask(masker, (struct str){whole.p, cut - pending}, &out);
        count +=
            mask(masker, (struct str){whole.p + cut - pending, whole.n - cut + pending}, &rest);
        assert_int_equal(count, 3);
        buf_release(&out);
        buf_release(&rest);
    }
    assert_int_equal(masker_pending(masker, STR("Enter a name: ")), 0);
    assert_int_equal(masker_pending(masker, STR("50%")), 0);
    assert_int_equal(masker_pending(masker, STR("listening on 8080")), 0);
    buf_release(&pem);
    buf_release(&whole);
    masker_free(masker);
}

static void without_a_masker_nothing_is_masked(void **state)
{
    char text[64] = "ghp_";
    make_body(text + 4, ALNUM, 36, 8);
    check_unmasked(NULL, str_from(text));
    assert_int_equal(masker_pending(NULL, str_from(text)), 0);
}

/* Texts that make a careless search quadratic end, too; the time is the test program's limit. */
static void hostile_texts_cost_no_more_than_others(void **state)
{
    static const char *const parts[] = {"-",
                                        "sk-",
                                        "xoxb-",
                                        "eyJ.",
                                        "eyJaaaaaaaaaaaaaaaa.",
                                        "-----BEGIN PRIVATE KEY-----\n",
                                        "-----END PRIVATE KEY-----",
                                        "secretaccesskey",
                                        "AKIA",
                                        "[masked:",
                                        "a"};
    struct masker *masker = masker_new(process_key);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        struct buf text;
        struct str found;
        buf_init(&text, 2 << 20);
        while (text.n < (1 << 20))
            buf_text(&text, parts[i]);
        masker_apply(masker, &text);
        masker_pending(masker, buf_view(&text));
        mask_find(buf_view(&text), &found);
        buf_release(&text);
    }
    masker_free(masker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_of_vendors_are_masked_wherever_they_stand),
        cmocka_unit_test(text_that_only_looks_like_a_key_stays),
        cmocka_unit_test(random_text_without_a_beginning_stays),
        cmocka_unit_test(private_keys_are_masked_as_one),
        cmocka_unit_test(half_a_private_key_is_masked),
        cmocka_unit_test(signed_tokens_are_masked),
        cmocka_unit_test(secret_keys_of_aws_are_known_by_name_and_by_their_ids),
        cmocka_unit_test(values_that_it_was_told_are_masked_anywhere),
        cmocka_unit_test(a_mask_tells_secrets_apart_and_nothing_about_them),
        cmocka_unit_test(masks_are_found_and_other_brackets_are_not),
        cmocka_unit_test(a_secret_in_two_pieces_is_held_back),
        cmocka_unit_test(without_a_masker_nothing_is_masked),
        cmocka_unit_test(hostile_texts_cost_no_more_than_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
