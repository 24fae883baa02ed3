// An independent model server as a peer of `cadre run`: first well behaved, then with every fault that it can make.
// Whatever it does, a run ends by its deadline with a result line and a defined exit code, and its log verifies and replays.
import assert from 'node:assert/strict';
import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {Recorder, Workspace, check, finish, skip} from './harness.mjs';

const NEEDS = [20, 15];
const RUNS = Number(process.env.PEERS_RUNS ?? 40);
const AT_ONCE = 6;
const SEED = Number(process.env.PEERS_SEED ?? Math.floor(Math.random() * 2 ** 31)) >>> 0;
const GRACE_MS = 30_000; // what a busy machine may need after a run's own deadline
const EXIT_STATUS = {0: /^completed$/, 1: /^failed$/, 3: /^failed$/, 4: /^failed$/, 75: /^parked$/};
const PATIENCE_MS = 5000; // with a provider in trouble; then a run parks
const FILES = {'a.txt': 'the first line\nthe second line\n', 'b.txt': 'beta\n'};

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < NEEDS[0] || (major === NEEDS[0] && minor < NEEDS[1])) {
    skip('the model server with faults', `it needs node ${NEEDS.join('.')}, this is ${process.versions.node}`);
    finish();
}
const {LLMock} = await import('@copilotkit/aimock');

const call = (name, args, id) => ({name, arguments: typeof args === 'string' ? args : JSON.stringify(args), ...(id && {id})});
const textOf = content => typeof content === 'string' ? content : (content ?? []).map(part => part.text ?? '').join('');
const firstUser = request => textOf(request.messages.find(message => message.role === 'user')?.content);
const turnOf = request => request.messages.filter(message => message.role === 'assistant').length;
const about = (text, turn) => ({predicate: request => firstUser(request).includes(text) &&
                                                      (turn === undefined || turnOf(request) === turn)});

// One run on a server and a workspace of its own; what failed stays in the workspace. `sent` are the requests as they were sent.
async function withRun({options = {}, prepare, args = [], config, environment, headers, seconds = 20}, task, judge) {
    const mock = new LLMock({host: '127.0.0.1', port: 0, logLevel: 'silent', journalMaxEntries: 2000, ...options});
    const space = await Workspace.create(FILES, JSON.stringify({llm: {patience_ms: PATIENCE_MS}, ...config}));
    prepare(mock);
    await mock.start();
    const recorder = await Recorder.start(mock.url, headers);
    try {
        const end = await space.cadre('run', ['--base-url', recorder.url, '--model', 'peer', '--mode', 'auto', '--json',
                                              '--timeout', `${seconds}s`, ...args, task],
                                      {environment, milliseconds: seconds * 1000 + GRACE_MS});
        const run = await sound(space, end);
        await judge?.({...run, space, sent: recorder.requests.map(request => request.body), requests: mock.getRequests().filter(entry => entry.path.endsWith('/chat/completions'))});
        await space.remove();
        return run;
    } catch (error) {
        error.stack = `${error.stack}\nthe store, the files: ${space.root}`;
        throw error;
    } finally {
        await recorder.stop();
        await mock.stop();
    }
}

// What holds for every run: {code, result, events, output}.
async function sound(space, end) {
    const said = `exit ${end.code ?? end.signal}\n${end.stdout.slice(-2000)}\n${end.stderr.slice(-4000)}`;
    assert.ok(!end.hung, `the run did not end by its deadline: ${said}`);
    assert.ok(end.code in EXIT_STATUS, `a crash, or an exit code that does not belong to a run: ${said}`);
    const lines = end.stdout.trimEnd().split('\n').map(line => JSON.parse(line));
    const result = lines.at(-1);
    assert.equal(lines[0].type, 'run', said);
    assert.equal(result.type, 'result', said);
    assert.match(result.run_status, EXIT_STATUS[end.code], said);
    assert.doesNotMatch(end.stderr, /Sanitizer|runtime error/, said);
    for (const args of [['verify', [result.run_id, '--head', result.head]], ['replay', [result.run_id]]]) {
        const proof = await space.cadre(...args);
        assert.equal(proof.code, 0, `cadre ${args[0]}: ${proof.code ?? proof.signal}\n${proof.stdout}${proof.stderr}\n${said}`);
    }
    return {code: end.code, result, events: lines.filter(line => line.type === 'event'), output: end.stdout + end.stderr};
}

const count = (events, name) => events.filter(event => event.event === name).length;
const messagesOf = (requests, i) => requests[i].body.messages;

// The server cuts by UTF-16 units; at three of them this text's pairs stay whole.
const GREETING = 'Grüezi, 世界! 🙂\n"quoted"';
await check('a plain answer comes back as it was sent', () => withRun({
    prepare: mock => mock.on(about('greet'), {content: GREETING}, {chunkSize: 3}),
}, 'greet me', ({code, result, requests}) => {
    assert.equal(code, 0);
    assert.equal(result.response, GREETING);
    assert.equal(requests.length, 1);
    assert.equal(requests[0].body.stream, true);
    assert.equal(requests[0].body.model, 'peer');
}));

await check('a tool call is run and its result goes back under the id of the call', () => withRun({
    prepare: mock => mock
        .on(about('look', 0), {toolCalls: [call('read', {path: 'a.txt'}, 'call_one')]}, {chunkSize: 2})
        .on(about('look', 1), {content: 'It has two lines.'}),
}, 'look at a.txt', ({code, result, requests}) => {
    assert.equal(code, 0);
    assert.equal(result.response, 'It has two lines.');
    const [asked, answered] = messagesOf(requests, 1).slice(-2);
    assert.equal(answered.role, 'tool');
    assert.equal(answered.tool_call_id, asked.tool_calls[0].id);
    assert.deepEqual(JSON.parse(asked.tool_calls[0].function.arguments), {path: 'a.txt'});
    assert.match(textOf(answered.content), /the second line/);
}));

await check('calls before, between and after text are all run', () => withRun({
    prepare: mock => mock
        .on(about('mixed', 0), {blocks: [
            {type: 'toolCall', ...call('read', {path: 'a.txt'}, 'call_a')}, {type: 'text', text: 'and '},
            {type: 'toolCall', ...call('write', {path: 'c.txt', content: 'new\n'}, 'call_c')}, {type: 'text', text: 'so on'}]})
        .on(about('mixed', 1), {content: 'done', reasoning: 'I think that this is all.'}),
}, 'mixed work', async ({code, result, requests, space}) => {
    assert.equal(code, 0);
    assert.equal(result.response, 'done');
    const [asked, ...answers] = messagesOf(requests, 1).slice(-3);
    assert.equal(textOf(asked.content), 'and so on');
    assert.deepEqual(asked.tool_calls.map(each => each.function.name), ['read', 'write']);
    assert.deepEqual(answers.map(message => message.tool_call_id), asked.tool_calls.map(each => each.id));
    assert.equal(await readFile(join(space.files, 'c.txt'), 'utf8'), 'new\n');
}));

await check('a child has its own conversation and its answer goes to its parent', () => withRun({
    prepare: mock => mock
        .on(about('PARENT', 0), {toolCalls: [call('spawn_agent', {task: 'CHILD: read b.txt'})]})
        .on(about('CHILD', 0), {toolCalls: [call('read', {path: 'b.txt'})]})
        .on(about('CHILD', 1), {content: 'the child read beta'})
        .on(about('PARENT', 1), {content: 'all done'}),
}, 'PARENT: delegate', ({code, result, events, requests}) => {
    assert.equal(code, 0);
    assert.equal(result.response, 'all done');
    assert.equal(count(events, 'agent.subagent_closed'), 1);
    assert.equal(requests.length, 4);
    assert.match(textOf(messagesOf(requests, 3).at(-1).content), /the child read beta/);
    assert.ok(messagesOf(requests, 1).every(message => !textOf(message.content).includes('PARENT')));
}));

// Reasoning beside a call, over each API, and where it stands in the request that brings the call's result.
const thought = {
    openai: body => body.messages.at(-2).reasoning_content,
    anthropic: body => body.messages.at(-2).content.find(block => block.type === 'thinking')?.thinking,
    responses: body => body.input.find(item => item.type === 'reasoning')?.summary[0]?.text,
};
for (const [api, find] of Object.entries(thought)) {
    await check(`${api}: reasoning is not the answer, and goes back with the call that it led to`, () => withRun({
        args: ['--api', api],
        prepare: mock => mock
            .on(about('think', 0), {toolCalls: [call('read', {path: 'a.txt'})], reasoning: 'I read it first.', reasoningSignature: 'c2lnbmVk'})
            .on(about('think', 1), {content: 'It has two lines.', reasoning: 'Now I know.'}),
    }, 'think about a.txt', ({code, result, sent}) => {
        assert.equal(code, 0);
        assert.equal(result.response, 'It has two lines.');
        assert.equal(sent.length, 2);
        assert.equal(find(sent[1]), 'I read it first.', JSON.stringify(sent[1]));
    }));
}

const ANSWER = {type: 'object', required: ['n'], additionalProperties: false, properties: {n: {type: 'integer'}}};
await check('an answer with a schema is asked for as one', () => withRun({
    config: {roles: {reviewer: {outputs: {schema: ANSWER}}}},
    prepare: mock => mock
        .on(about('PARENT', 0), {toolCalls: [call('spawn_agent', {task: 'COUNT', role: 'reviewer', allowed_tools: []})]})
        .on({...about('COUNT'), responseFormat: 'json_schema'}, {content: '{"n": 3}'})
        .on(about('COUNT'), {content: 'nobody asked for JSON'})
        .on(about('PARENT', 1), {content: 'counted'}),
}, 'PARENT: count', ({code, result, sent}) => {
    assert.equal(code, 0);
    assert.equal(result.response, 'counted');
    assert.equal(sent.length, 3);
    assert.deepEqual(sent[1].response_format.json_schema.schema, ANSWER);
}));

const key = {options: {auth: {apiKeys: ['sk-right']}}, prepare: mock => mock.on(about('greet'), {content: 'hello'})};
await check('the key is sent', () => withRun({...key, environment: {OPENAI_API_KEY: 'sk-right'}}, 'greet me', ({code}) => {
    assert.equal(code, 0);
}));
await check('a wrong key ends the run, and the key stands neither in its output nor in the store', () => withRun(
    {...key, environment: {OPENAI_API_KEY: 'sk-wrong-secret'}}, 'greet me', async ({code, events, output, space}) => {
        assert.equal(code, 1);
        assert.equal(count(events, 'model.requested'), 1);
        assert.ok(!output.includes('sk-wrong-secret'));
        assert.ok(!(await readFile(space.store)).includes('sk-wrong-secret'));
    }));

// One fault each, with the exit code that it leads to.
const faults = [
    ['one rate limit is waited out', 0,
     {once: {error: {message: 'slow down', type: 'rate_limit_error'}, status: 429, retryAfter: 1}}],
    ['one server error is tried again', 0, {once: {error: {message: 'oops', type: 'server_error'}, status: 503}}],
    ['one stream that is cut off is tried again', 0, {once: {content: 'cut '.repeat(50)}, opts: {truncateAfterChunks: 3}}],
    ['a request that is refused is not repeated', 1,
     {always: {error: {message: 'no', type: 'invalid_request_error'}, status: 400}, requests: 1}],
    ['a server that always fails fails the run', 1, {chaos: {dropRate: 1}}],
    ['a server that always sends something else parks the run', 75, {chaos: {malformedRate: 1}}],
    ['a server that always hangs up parks the run', 75, {chaos: {disconnectRate: 1}}],
    ['a server that cuts every stream parks the run', 75, {always: {content: 'cut '.repeat(50)}, opts: {truncateAfterChunks: 3}}],
    ['a server that hangs up in the middle every time parks the run', 75,
     {always: {content: 'cut '.repeat(50)}, opts: {disconnectAfterMs: 40, latency: 10}}],
    ['a server that does not answer in time is a timeout', 4, {chaos: {latencyMs: 30_000}, seconds: 5}],
    ['a stream that goes on for too long is a timeout', 4,
     {always: {content: 'word '.repeat(2000)}, opts: {latency: 100, chunkSize: 5}, seconds: 5}],
    ['a rate limit beyond patience parks the run', 75,
     {always: {error: {message: 'later', type: 'rate_limit_error'}, status: 429, retryAfter: 3600}, seconds: 5}],
];
await Promise.all(faults.map(([name, code, fault]) => check(name, () => withRun({
    seconds: fault.seconds ?? 60,
    options: {chaos: fault.chaos},
    prepare: mock => {
        if (fault.once)
            mock.on({...about('fault'), sequenceIndex: 0}, fault.once, fault.opts);
        mock.on(about('fault'), fault.always ?? {content: 'fine'}, fault.always && fault.opts);
    },
}, 'fault', run => {
    assert.equal(run.code, code, JSON.stringify(run.result));
    if (fault.requests)
        assert.equal(count(run.events, 'model.requested'), fault.requests);
}))));

// Errors and cut streams in half of all answers, and now and then a rate limit: every request is answered in the end, and
// nothing is lost. No answer asks for a pause, so that thousands of faults take seconds.
const STORM_CHILDREN = Number(process.env.PEERS_CHILDREN ?? 100);
const STORM_TURNS = 15; // of each child; the last one is its answer
await check(`${STORM_CHILDREN} children come through a storm of 429, 500 and cut streams`, async () => {
    const met = {};
    const dice = generator(SEED);
    let moment = 0;
    const add = name => met[name] = (met[name] ?? 0) + 1;
    const fails = (status, more) => () => {
        add(status);
        return {error: {message: `trouble ${moment++}`, type: 'server_error'}, status, ...more};
    };
    const cut = () => {
        add('cut');
        return {content: 'cut '.repeat(50)};
    };
    await withRun({
        seconds: 200,
        config: {llm: {patience_ms: 600_000}, sub_agent: {max_concurrent: STORM_CHILDREN},
                 safety: {circuit_breaker: {warn_at: 100_000, pause_at: 100_000, hard_stop_at: 100_000}}},
        options: {journalMaxEntries: 1},
        headers: {'retry-after-ms': '0'},
        prepare: mock => mock
            .on({predicate: () => dice.chance(0.005)}, fails(429, {retryAfter: 0}))
            .on({predicate: () => dice.chance(0.45)}, fails(500))
            .on({predicate: () => dice.chance(0.1)}, cut, {truncateAfterChunks: 3})
            .on(about('PARENT', 0), {toolCalls: Array.from({length: STORM_CHILDREN},
                                                           (_, i) => call('spawn_agent', {task: `CHILD: number ${i}`}))})
            .on(about('PARENT'), {content: 'all done'})
            .on({predicate: request => firstUser(request).includes('CHILD') && turnOf(request) < STORM_TURNS - 1},
                request => ({toolCalls: [call('read', {path: turnOf(request) % 2 ? 'a.txt' : 'b.txt', limit: turnOf(request) + 1})]}))
            .on(about('CHILD'), {content: 'the child is done'}),
    }, 'PARENT: storm', ({code, result, events}) => {
        assert.equal(code, 0, JSON.stringify(result));
        assert.equal(result.response, 'all done');
        assert.equal(count(events, 'agent.subagent_closed'), STORM_CHILDREN);
        assert.equal(count(events, 'agent.subagent_failed'), 0);
        assert.equal(count(events, 'model.replied'), STORM_TURNS * STORM_CHILDREN + 2);
        const faults = Object.values(met).reduce((sum, n) => sum + n, 0);
        assert.equal(count(events, 'model.failed'), faults);
        assert.ok(faults > STORM_CHILDREN * STORM_TURNS / 2, `${faults} faults are not a storm`);
        console.log(`         faults: ${Object.entries(met).map(([status, n]) => `${n} × ${status}`).join(', ')}`);
    });
});

// A small generator, so that a seed names what a run meets. The server's own dice stay its own.
function generator(seed) {
    let state = seed >>> 0;
    const next = () => {
        state = (state + 0x6d2b79f5) >>> 0;
        let mixed = Math.imul(state ^ (state >>> 15), state | 1);
        mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
        return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    };
    return {next, chance: share => next() < share, pick: list => list[Math.floor(next() * list.length)]};
}

// Answers that a careful server would not send.
const oddities = [
    {content: ''},
    {content: 'x'.repeat(300_000)},
    {content: 'nul \u0000, escape \u001b[31m, lone \ud800 surrogate'},
    {content: 'stopped by a filter', finishReason: 'content_filter'},
    {content: 'an unknown end', finishReason: 'whatever'},
    {content: 'calls that never come', finishReason: 'tool_calls'},
    {content: 'cut', finishReason: 'length'},
    {content: 'wrong role', role: 'user'},
    {content: 'odd usage', usage: {prompt_tokens: -5, completion_tokens: -1, total_tokens: 0}},
    {content: 'huge usage', usage: {prompt_tokens: 9e15, completion_tokens: 1e300, total_tokens: 1}},
    {content: 'broken usage', usage: {prompt_tokens: 1.5, completion_tokens: 0.25}},
    {content: 'another model', model: 'm'.repeat(5000), id: ''},
    {toolCalls: []},
    {toolCalls: [call('read', '{"path": "a.t')]},
    {toolCalls: [call('read', '[]')]},
    {toolCalls: [call('read', '')]},
    {toolCalls: [call('read', '{"path": "../../etc/passwd"}')]},
    {toolCalls: [call('no_such_tool', {})]},
    {toolCalls: [call('', {})]},
    {toolCalls: [call('n'.repeat(4000), {})]},
    {toolCalls: [call('read', {path: 'a.txt'}, 'same'), call('read', {path: 'b.txt'}, 'same')]},
    {toolCalls: [call('read', {path: 'a.txt'}, 'i'.repeat(4000))]},
    {toolCalls: Array.from({length: 60}, () => call('read', {path: 'a.txt'}))},
    {toolCalls: [call('spawn_agent', {task: 'CHILD: again', max_tool_calls: -1})]},
    {toolCalls: [call('spawn_agent', {task: 'CHILD: deep', budget: {timeout_ms: 1}})]},
    {toolCalls: [call('spawn_agent', {})]},
    {error: {message: 'gone', type: 'invalid_request_error'}, status: 404},
    {error: {message: 'forbidden \u0007', type: 'x'}, status: 403},
    {error: {message: '', type: ''}, status: 418},
];

// Runs bodies 0 … n - 1, some at a time, and fails with what failed; many failures end it early.
async function sideBySide(n, body) {
    const failures = [];
    let next = 0;
    await Promise.all(Array.from({length: AT_ONCE}, async () => {
        while (next < n && failures.length < 5) {
            const number = next++;
            try {
                await body(number);
            } catch (error) {
                failures.push(`number ${number}: ${error.stack}`);
            }
        }
    }));
    assert.equal(failures.length, 0, failures.join('\n\n'));
}

const oddRun = number => withRun({
    prepare: mock => mock
        .on(about('odd', 0), oddities[number], {chunkSize: 4096})
        .on({predicate: () => true}, {content: 'done'}),
}, 'odd');
await check(`${oddities.length} odd answers, each as the first one, do no harm`, () => sideBySide(oddities.length, oddRun));

// The well behaved conversation that the faults disturb.
function reply(request) {
    const text = firstUser(request);
    const turn = turnOf(request);
    if (text.includes('CHILD'))
        return turn === 0 ? {toolCalls: [call('read', {path: 'b.txt'})]} : {content: 'the child is done'};
    if (turn === 0)
        return {content: 'Two at once.', toolCalls: [1, 2].map(i => call('spawn_agent', {task: `CHILD: number ${i}`}))};
    if (turn === 1)
        return {toolCalls: [call('write', {path: 'c.txt', content: 'new\n'}), call('ls', {path: '.'})]};
    return {content: 'done'};
}

async function chaoticRun(number) {
    const dice = generator(SEED + number);
    const rate = () => dice.chance(0.5) ? dice.next() * 0.4 : 0;
    const chaos = {dropRate: rate(), malformedRate: rate(), rateLimitRate: rate() / 2, disconnectRate: rate(),
                   ...(dice.chance(0.2) && {latencyMs: Math.floor(dice.next() * 1500)})};
    const odd = dice.chance(0.6) ? dice.next() * 0.5 : 0;
    const cut = dice.chance(0.5) ? dice.next() * 0.5 : 0;
    const shape = {chunkSize: dice.pick([1, 7, 20, 4096]), ...(dice.chance(0.3) && {latency: dice.pick([1, 5, 50])})};
    const cutting = dice.chance(0.5) ? {truncateAfterChunks: dice.pick([1, 2, 3, 5, 9])}
                                     : {disconnectAfterMs: dice.pick([1, 20, 100]), latency: 10};
    const seconds = dice.pick([5, 8, 12]);
    const told = JSON.stringify({number, chaos, odd, cut, shape, cutting, seconds});
    const made = [];
    const fault = (name, response) => request => {
        made.push(name);
        return response(request);
    };
    try {
        const {code} = await withRun({
            seconds, options: {chaos},
            prepare: mock => mock
                .on({predicate: () => dice.chance(cut)}, fault('cut', reply), {...shape, ...cutting})
                .on({predicate: () => dice.chance(odd)}, fault('odd', () => dice.pick(oddities)), {chunkSize: 4096})
                .on({predicate: () => true}, reply, shape),
        }, `PARENT: run ${number}`, ({requests}) => {
            made.push(...requests.map(entry => entry.response.chaosAction).filter(Boolean));
        });
        return {code, faults: made};
    } catch (error) {
        error.stack = `${told}\n${error.stack}`;
        throw error;
    }
}

await check(`${RUNS} runs with faults end as they should (PEERS_SEED=${SEED})`, async () => {
    const codes = {};
    const met = {};
    const add = (counts, name) => counts[name] = (counts[name] ?? 0) + 1;
    const listed = counts => Object.entries(counts).map(([name, n]) => `${n} × ${name}`).join(', ');
    await sideBySide(RUNS, async number => {
        const {code, faults: list} = await chaoticRun(number);
        add(codes, code);
        list.forEach(name => add(met, name));
    });
    console.log(`         faults: ${listed(met)}\n         exit codes: ${listed(codes)}`);
    assert.ok(Object.keys(met).length > 0 || RUNS < 5, 'the server made no fault: nothing was tested');
});
finish();
