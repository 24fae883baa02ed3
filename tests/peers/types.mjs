// The official clients' TypeScript types as judges of the requests that cadre sends: each captured request is written out as an object
// literal of the client's own parameter type, so a member that the API does not know, a wrong type and a wrong combination are errors
// of the compiler. Anthropic's client is of the last version that speaks the API version of cadre (2023-06-01).
import assert from 'node:assert/strict';
import {mkdtemp, rm, symlink, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {basename, join} from 'node:path';
import ts from 'typescript';
import {Recorder, Scripted, Workspace, check, finish} from './harness.mjs';

const APIS = {
    openai: {path: '/v1/chat/completions', type: 'ChatCompletionCreateParamsStreaming', from: 'openai/resources/chat/completions'},
    responses: {path: '/v1/responses', type: 'ResponseCreateParamsStreaming', from: 'openai/resources/responses/responses'},
    anthropic: {path: '/v1/messages', type: 'MessageCreateParamsStreaming', from: '@anthropic-ai/sdk/resources/messages'},
};
// Models that reason and such that do not, by API: what is sent depends on the family.
const MODELS = {
    openai: ['gpt-5.1', 'gpt-4.1', 'scripted'],
    responses: ['gpt-5.1', 'gpt-4.1'],
    anthropic: ['claude-opus-5', 'claude-sonnet-4-5', 'claude-3-5-haiku-latest'],
};
const ANSWER = {type: 'object', required: ['n'], additionalProperties: false, properties: {n: {type: 'integer'}}};
const LOOSE = {type: 'object', required: ['n'], properties: {n: {type: 'integer', minimum: 1}, why: {type: 'string'}}};
const FILES = {'a.txt': 'the first line\n', 'long.txt': `${'a line of a long file, which fills the window\n'.repeat(700)}`};

const SUMMARY = 'this is what was done so far';
const rule = (reply, when) => ({when, reply});
const calls = (...list) => ({calls: list.map(([name, args]) => ({name, arguments: args}))});

// Text and thinking beside calls, results, an error, two children (one with a schema that strict modes take, one without), a child at
// the end of its budget, and a conversation that is compacted.
const conversation = [
    rule({thinking: 'I look first.', text: 'Let me look.', ...calls(['read', {path: 'a.txt'}], ['read', {path: 'missing.txt'}])},
         {first_user: 'ROOT', turn: 0}),
    rule(calls(['spawn_agent', {task: 'STRICT', role: 'reviewer'}], ['spawn_agent', {task: 'LOOSE', role: 'tester', effort: 'low'}]),
         {first_user: 'ROOT', turn: 1}),
    rule(calls(['spawn_agent', {task: 'LAST', max_tool_calls: 1}]), {first_user: 'ROOT', turn: 2}),
    rule(calls(['spawn_agent', {task: 'COMPACT'}]), {first_user: 'ROOT', turn: 3}),
    rule({text: 'all done'}, {first_user: 'ROOT'}),
    rule(calls(['read', {path: 'a.txt'}]), {first_user: 'STRICT', turn: 0}),
    rule({text: '{"n": 3}'}, {first_user: 'STRICT'}),
    rule({text: '{"n": 0}'}, {first_user: 'LOOSE', turn: 0}),
    rule({text: '{"n": 3, "why": "because"}'}, {first_user: 'LOOSE'}),
    rule({thinking: 'One call.', ...calls(['ls', {}])}, {first_user: 'LAST', turn: 0}),
    rule({text: 'what I have'}, {first_user: 'LAST'}),
    rule({text: SUMMARY}, {first_user: 'COMPACT', last: 'ummar'}),
    rule({text: 'compacted'}, {first_user: 'COMPACT', last: SUMMARY}),
    ...[0, 1, 2, 3, 4, 5, 6, 7, 8].map(turn => rule(
        {text: 'I say much beside each call. ', repeat: 200, ...calls(['read', {path: 'long.txt', offset: 100 * turn, limit: 90 + turn}])},
        {first_user: 'COMPACT', turn})),
    rule({text: 'done'}, {first_user: 'COMPACT'}),
];

function config(members, params) {
    const providers = {};
    const models = {};
    members.forEach(({api, url, model, provider}, i) => {
        provider ??= `p${i}`;
        providers[provider] = {api, base_url: url, api_key_env: 'PEER_KEY'};
        models[`m${i}`] = {provider, model, max_context_tokens: 32768, max_tokens: 4096};
    });
    return JSON.stringify({
        llm: {providers, models, pools: {default: members.map((_, i) => ({model: `m${i}`}))}, ...params},
        roles: {reviewer: {outputs: {schema: ANSWER}}, tester: {outputs: {schema: LOOSE}}},
        sub_agent: {default_budget: {max_tokens: 8192}},
    });
}

const captured = []; // {name, api, body}

// One run; what each member of its pool was asked goes to the judge. The first of two members fails in its second turn.
async function run(name, members, params = {}) {
    const peers = [];
    try {
        for (const [i, member] of members.entries()) {
            const fails = members.length > 1 && i === 0 ? [rule({status: 404, error: 'gone'}, {turn: 1})] : [];
            const models = MODELS[member.api].map(id => ({id, window: 200000, max_output: 64000}));
            const server = await Scripted.start({models, rules: [...fails, ...conversation]});
            peers.push(server);
            const recorder = await Recorder.start(server.url);
            peers.push(recorder);
            Object.assign(member, {url: recorder.url, recorder});
        }
        const space = await Workspace.create(FILES, config(members, params));
        const end = await space.cadre('run', ['--mode', 'auto', '--json', 'ROOT'], {environment: {PEER_KEY: 'sk-peer'}});
        for (const {api, recorder} of members) {
            recorder.requests.forEach((request, i) => {
                assert.equal(request.path, APIS[api].path);
                captured.push({name: `${name}, request ${i} to ${api}`, api, body: request.body, status: request.status});
            });
        }
        assert.equal(end.code, 0, `${space.root}\n${end.stdout.slice(-3000)}\n${end.stderr}`);
        await space.remove();
    } finally {
        for (const peer of peers.reverse())
            await peer.stop();
    }
}

// The errors of the compiler, by request. The types come from node_modules beside this file.
async function judge(requests) {
    const folder = await mkdtemp(join(tmpdir(), 'cadre-peer-types-'));
    try {
        await symlink(join(import.meta.dirname, 'node_modules'), join(folder, 'node_modules'));
        await writeFile(join(folder, 'package.json'), '{"type": "module"}');
        for (const [i, {api, body}] of requests.entries()) {
            const {type, from} = APIS[api];
            await writeFile(join(folder, `r${i}.ts`),
                            `import type {${type}} from '${from}';\nexport const request: ${type} = ${JSON.stringify(body, null, 1)};\n`);
        }
        const program = ts.createProgram(requests.map((_, i) => join(folder, `r${i}.ts`)), {
            strict: true, noEmit: true, skipLibCheck: true, types: [], target: ts.ScriptTarget.ES2022,
            module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext,
        });
        return ts.getPreEmitDiagnostics(program).map(each => {
            const found = each.file && /^r(\d+)\.ts$/.exec(basename(each.file.fileName));
            const line = found ? each.file.text.slice(0, each.start).split('\n').length : 0;
            const lines = found ? each.file.text.split('\n').slice(Math.max(0, line - 3), line + 2)
                .map(each => each.slice(0, 120)).join('\n') : '';
            return {request: found ? Number(found[1]) : null,
                    text: `${ts.flattenDiagnosticMessageText(each.messageText, '\n')}\n${lines}`};
        });
    } finally {
        await rm(folder, {recursive: true, force: true});
    }
}

const SAMPLING = {effort: 'high', temperature: 0.5, top_p: 0.9, stop: ['END'], seed: 7};
for (const [api, models] of Object.entries(MODELS)) {
    for (const model of models) {
        // A provider of this name is asked as OpenAI itself is asked.
        const provider = model.startsWith('gpt-') ? 'azure' : undefined;
        await check(`${api}, ${model}: a run with tools, errors, schemas, compaction and a last turn`,
                    () => run(`${api} ${model}`, [{api, model, provider}]));
        await check(`${api}, ${model}: the same with effort and sampling`,
                    () => run(`${api} ${model} with effort`, [{api, model, provider}], SAMPLING));
    }
}
for (const first of Object.keys(APIS)) {
    for (const second of Object.keys(APIS).filter(api => api !== first)) {
        await check(`${second} goes on with what ${first} began`,
                    () => run(`${first} to ${second}`, [{api: first, model: MODELS[first][0]}, {api: second, model: MODELS[second][0]}],
                              {effort: 'medium'}));
    }
}

// The compiler must see what is wrong, or its silence means nothing.
const faults = [
    ['openai', body => ({...body, nonsense: 1})],
    ['openai', body => ({...body, messages: [{role: 'user', content: 'x', nonsense: 1}]})],
    ['openai', body => ({...body, messages: [{role: 'tool', content: 'x'}]})],
    ['openai', body => ({...body, tools: [{type: 'function', function: {name: 'x', parameter: {}}}]})],
    ['responses', body => ({...body, max_tokens: 5})],
    ['responses', body => ({...body, input: [{type: 'function_call_output', call_id: 7, output: 'x'}]})],
    ['anthropic', body => ({...body, max_completion_tokens: 5})],
    ['anthropic', body => ({...body, messages: [{role: 'user', content: [{type: 'tool_result', tool_use: 'x'}]}]})],
    ['anthropic', body => ({...body, system: [{type: 'text', text: 'x', cache_control: {type: 'forever'}}]})],
];

await check('requests have the types of the official clients', async () => {
    const samples = faults.map(([api, break_it]) => ({api, body: break_it(captured.find(each => each.api === api).body)}));
    const found = await judge([...captured, ...samples]);
    faults.forEach((_, i) => {
        assert.ok(found.some(each => each.request === captured.length + i), `the compiler accepts fault ${i}`);
    });
    const wrong = found.filter(each => each.request === null || each.request < captured.length);
    const told = [...new Set(wrong.map(({request, text}) => `${captured[request]?.name ?? ''}: ${text}`))];
    console.log(`         ${captured.length} requests`);
    assert.equal(told.length, 0, `${told.length} errors\n${told.slice(0, 12).join('\n\n')}`);
});

// What must have been judged, or this test has lost its sight.
const has = {
    'tool results': {openai: body => body.messages.some(each => each.role === 'tool'),
                     responses: body => body.input.some(each => each.type === 'function_call_output'),
                     anthropic: body => JSON.stringify(body.messages).includes('"tool_result"')},
    'a result that is an error': {anthropic: body => JSON.stringify(body.messages).includes('"is_error":true')},
    'thoughts that go back': {responses: body => body.input.some(each => each.type === 'reasoning'),
                              anthropic: body => JSON.stringify(body.messages).includes('"thinking"')},
    'a compaction': Object.fromEntries(Object.keys(APIS).map(api => [api, body => JSON.stringify(body).includes(SUMMARY)])),
    'a schema for the answer': {openai: body => body.response_format?.type === 'json_schema',
                                responses: body => body.text?.format?.type === 'json_schema',
                                anthropic: body => body.output_config?.format?.type === 'json_schema'},
    'effort': {openai: body => body.reasoning_effort === 'high', responses: body => body.reasoning?.effort === 'high',
               anthropic: body => body.output_config?.effort === 'high' && body.thinking?.type === 'adaptive'},
    'a budget for thinking': {anthropic: body => body.thinking?.type === 'enabled'},
    'sampling': Object.fromEntries(Object.keys(APIS).map(api => [api, body => body.temperature === 0.5 || body.top_p === 0.9])),
    'a cache key': {openai: body => body.prompt_cache_key?.length > 0, responses: body => body.prompt_cache_key?.length > 0},
    'cache marks': {anthropic: body => JSON.stringify(body).includes('"cache_control"')},
};
for (const [what, apis] of Object.entries(has)) {
    await check(`among the requests: ${what}`, async () => {
        for (const [api, test] of Object.entries(apis))
            assert.ok(captured.some(each => each.api === api && test(each.body)), `none to ${api}`);
    });
}
await check('no request was refused', async () => {
    const refused = captured.filter(each => each.status === 400);
    assert.equal(refused.length, 0, refused.map(each => each.name).join('\n'));
});
finish();
