/* The control plane's records (seed 003): profiles, the agent registry, and pins. What they are, how they are
 * read and checked, and what follows from them; where they are kept is port/store.h's business (`record_*`).
 *
 *   type     id                                        value
 *   profile  profile:writer:v1                         struct agent_profile
 *   policy   agent-registry:default                    struct registry
 *   policy   profile-pin:{session,user,workspace}:ID,
 *            profile-pin:global                        {"profileId": …}
 *
 * Every reader finds all that is wrong in one pass (struct problems) and fills its struct only where nothing is.
 * Lists: absent and empty differ; an empty list is "none", never "unrestricted". Of a registry entry, every list
 * is set (an omitted one is empty) but allowed_forward_skills. Of a profile, an absent list means "no
 * constraint of my own". Names of tools are kept as they were written: tool_normal_list before intersecting.
 *
 * Pure; any thread. All views belong to the arena given. */
#ifndef CADRE_CORE_CONTRACT_REGISTRY_H
#define CADRE_CORE_CONTRACT_REGISTRY_H

#include "core/contract/settings.h"

#define REGISTRY_VERSION 1
#define REGISTRY_AGENTS_MAX 100
#define REGISTRY_DESCRIPTION_MAX 300 /* characters */
#define REGISTRY_ITEMS_MAX 64        /* of one list */
#define REGISTRY_NAME_MAX 128        /* bytes of a skill, server, model, tool or tag */
#define PROFILE_ID_MAX 128           /* bytes */
#define PROFILE_PROMPT_MAX (64 << 10)
#define RECORD_VALUE_MAX (1 << 20) /* bytes of any value that is read or written */

#define RECORD_PROFILE STR("profile") /* resource types */
#define RECORD_POLICY STR("policy")
#define REGISTRY_ID STR("agent-registry:default")

/* --- what is wrong, all at once ----------------------------------------------------------------------------- */

#define PROBLEMS_MAX 32 /* that are kept; `found` counts on */

struct problem {
    struct str path;    /* "agents[2].agentId"; "" for the document itself */
    struct str message; /* "must match ^@[a-z0-9_\-]{2,32}$" */
};

struct problems {
    struct arena *arena;
    struct problem items[PROBLEMS_MAX];
    size_t count, found;
};

void problems_init(struct problems *problems, struct arena *arena);
void problems_add(struct problems *problems, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* One line each, "path: message", and how many more there are. */
void problems_print(const struct problems *problems, struct buf *out);
/* 0 where nothing was found. Else -1 and as many of them as a message holds, with the class given. */
int problems_err(const struct problems *problems, enum err_class class, const char *what,
                 struct err *err);

/* --- profiles ----------------------------------------------------------------------------------------------- */

struct agent_profile {
    struct str id;              /* "profile:writer:v1" */
    struct str description;     /* STR_NONE: none */
    struct str provider, model; /* as llm.providers and the provider call them */
    struct list allowed_models; /* that an override may choose besides `model` */
    struct list allowed_skills, allowed_tools;
    int64_t context_window;       /* tokens; UNLIMITED: the model's own */
    struct str effort;            /* STR_NONE: unset */
    double temperature, top_p;    /* NaN: unset */
    struct list stop;             /* absent: unset */
    int64_t seed;                 /* UNLIMITED: unset */
    struct str system_prompt;     /* STR_NONE: none */
    struct str output_schema;     /* of answers: compact JSON; STR_NONE: none */
    struct str working_directory; /* from the workspace; STR_NONE: where the parent's paths start */
};

bool profile_id_valid(struct str id); /* ^profile:[a-z0-9_.:\-]{1,120}$ */
/* id: the record's, which the document may repeat as "id" and must not contradict; STR_NONE: the document names
 * itself. -1 where something was added to problems. */
int agent_profile_parse(struct arena *arena, struct str id, const struct js *value,
                        struct agent_profile *out, struct problems *problems) NODISCARD;
void agent_profile_print(const struct agent_profile *profile, struct jw *w); /* with its id */
/* Its effort and sampling. Views are the profile's. */
struct model_params agent_profile_params(const struct agent_profile *profile);
const struct agent_profile *agent_profile_find(const struct agent_profile *profiles, size_t count,
                                               struct str id); /* NULL: none */

/* What a profile's model policy comes to under these settings. */
struct profile_models {
    struct str name;            /* in settings->models */
    struct list allowed_models; /* names in settings->models, always set; `name` is the first */
};
/* CONFIG when llm has no such provider and model, DENIED when llm.allowed_models leaves it out: a pinned model is
 * never replaced. Entries of profile->allowed_models that the settings do not have, or do not allow, fall away. */
int agent_profile_models(struct arena *arena, const struct agent_profile *profile,
                         const struct settings *settings, struct profile_models *out,
                         struct err *err) NODISCARD;

/* --- the registry ------------------------------------------------------------------------------------------- */

struct registry_agent {
    struct str agent_id; /* "@writer" */
    struct str profile_id;
    struct str description; /* one line */
    struct list default_forward_skills;
    struct list allowed_forward_skills; /* absent: the registry does not narrow */
    struct list default_mcp_servers, allowed_mcp_servers;
    struct list tags;
};

struct registry {
    struct registry_agent *agents; /* in the record's order */
    size_t count;
};

bool agent_id_valid(struct str id); /* ^@[a-z0-9_\-]{2,32}$ */
/* profiles: the ids of all profile records, or NULL where they were checked already (a logged registry). */
int registry_parse(struct arena *arena, const struct js *value, const struct list *profiles,
                   struct registry *out, struct problems *problems) NODISCARD;
void registry_print(const struct registry *registry, struct jw *w);
void registry_agent_print(const struct registry_agent *agent, struct jw *w);
const struct registry_agent *registry_find(const struct registry *registry, struct str agent_id);
/* A registry with this entry in the place of the one with its agent_id, or behind the others. Checks nothing. */
void registry_set(struct arena *arena, struct registry *registry,
                  const struct registry_agent *agent);
/* false: there was none. */
bool registry_remove(struct registry *registry, struct str agent_id);

/* Skills of a delegated agent: parent ∩ profile ∩ the registry's forward list (where there is one). An absent list
 * constrains nothing. A name with and one without "skill:" are the same; the parent's spelling is kept, or the
 * profile's where the parent is absent. */
struct list registry_skills(struct arena *arena, const struct list *parent,
                            const struct agent_profile *profile,
                            const struct registry_agent *agent);
/* Of those, the ones that are forwarded unasked: the entry's defaults. */
struct list registry_default_skills(struct arena *arena, const struct list *skills,
                                    const struct registry_agent *agent);
/* MCP servers as config calls them (without "mcp:"): parent ∩ allowed; and the default ones of those. */
struct list registry_mcp_servers(struct arena *arena, const struct list *parent,
                                 const struct registry_agent *agent);
struct list registry_default_mcp_servers(struct arena *arena, const struct list *servers,
                                         const struct registry_agent *agent);
/* "skill:formatting" → "formatting", "mcp:docs" → "docs"; another name is itself. */
struct str registry_bare_name(struct str name);

/* The block for every root prompt: per agent one line of JSON with agentId, description and tags, between two lines
 * that no description can imitate. Nothing for an empty registry. Byte-stable. */
void registry_prompt(const struct registry *registry, struct buf *out);

/* --- pins --------------------------------------------------------------------------------------------------- */

enum pin_scope {
    PIN_SESSION,
    PIN_USER,
    PIN_WORKSPACE,
    PIN_GLOBAL,
    PIN_SCOPE_COUNT
}; /* first wins */

struct pin {
    struct str record_id;  /* "profile-pin:session:…" */
    struct str profile_id; /* STR_NONE: nothing is pinned here */
};

const char *pin_scope_text(enum pin_scope scope); /* "session" … */
int pin_scope_parse(struct str text, enum pin_scope *scope, struct err *err) NODISCARD; /* USAGE */
/* id: of the session, user or workspace; ignored for the global pin. USAGE for an id that no pin can have. */
int pin_record_id(struct arena *arena, enum pin_scope scope, struct str id, struct str *record_id,
                  struct err *err) NODISCARD;
/* The scope that a record's id speaks of; PIN_SCOPE_COUNT: it is no pin's id. */
enum pin_scope pin_scope_of(struct str record_id);
/* The value of a pin's record. profiles as for registry_parse. */
int pin_parse(struct arena *arena, const struct js *value, const struct list *profiles,
              struct str *profile_id, struct problems *problems) NODISCARD;
void pin_print(struct str profile_id, struct jw *w);
/* The pin that counts: session > user > workspace > global. PIN_SCOPE_COUNT: nothing is pinned. */
enum pin_scope pins_effective(const struct pin pins[PIN_SCOPE_COUNT]);
/* Its profile; NULL and 0 where nothing is pinned. CONFIG, naming the pin, when the profile is gone: a lower pin never
 * stands in for a broken one. */
int pins_resolve(const struct pin pins[PIN_SCOPE_COUNT], const struct agent_profile *profiles,
                 size_t count, const struct agent_profile **profile, struct err *err) NODISCARD;

/* Which records may be written at all: the table above. USAGE for any other type or id. */
int record_writable(struct str type, struct str id, struct err *err) NODISCARD;

/* --- what a run keeps --------------------------------------------------------------------------------------- */

/* All that the runs of one process may know of the control plane, as it was when the run started. */
struct control {
    struct registry registry;
    struct agent_profile *profiles; /* that the registry and the pin refer to; each once */
    size_t profile_count;
    enum pin_scope pin_scope; /* of the effective pin; PIN_SCOPE_COUNT: none */
    struct pin pin;
};

void control_init(struct control *control); /* nothing registered, nothing pinned */
bool control_is_empty(const struct control *control);
/* Leaves out the profiles that nothing refers to. CONFIG when an entry or the pin refers to a profile that is gone. */
int control_make(struct arena *arena, const struct registry *registry,
                 const struct agent_profile *profiles, size_t count,
                 const struct pin pins[PIN_SCOPE_COUNT], struct control *out,
                 struct err *err) NODISCARD;
void control_print(const struct control *control, struct jw *w);
int control_parse(struct arena *arena, const struct js *value, struct control *out,
                  struct err *err) NODISCARD; /* CORRUPT */

#endif
