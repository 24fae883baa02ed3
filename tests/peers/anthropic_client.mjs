// Anthropic's official client as a peer of cadre-scripted: what this client accepts and reports, clients of the real API see.
import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import {Scripted, check, failure, finish} from './harness.mjs';

const TEXT = 'The answer, in four pieces: à la carte, 日本語, 🙂 and a "quote".\nSecond line.';
const KEY = 'sk-ant-peer';
const MODEL = 'scripted';

const tools = [{
    name: 'weather',
    description: 'Weather of a city',
    input_schema: {type: 'object', properties: {city: {type: 'string'}}, required: ['city'], additionalProperties: false},
}];

const fails = (status, more) => ({status, error: `made to fail with ${status}`, ...more});
const statuses = [400, 401, 403, 404, 409, 422, 429, 500, 529];
const rules = [
    {when: {first_user: 'say it'}, reply: {text: TEXT}},
    {when: {first_user: 'at length'}, reply: {text: 'word ', repeat: 500}},
    {when: {first_user: 'two cities', turn: 0}, reply: {
        thinking: 'Two cities, two calls.', text: 'Let me look.',
        calls: [{name: 'weather', arguments: {city: 'Zürich'}}, {name: 'weather', arguments: {city: 'Oslo'}}]}},
    {when: {first_user: 'two cities', turn: 1}, reply: {text: 'I was told: {{last}}'}},
    {when: {first_user: 'first too often'}, reply: fails(429, {retry_after: '0', fail_times: 2, then: {text: 'at last'}})},
    {when: {first_user: 'first broken'}, reply: fails(529, {fail_times: 1, then: {text: 'at last'}})},
    {when: {first_user: 'first dropped'}, reply: {drop: 'before-headers', fail_times: 1, then: {text: 'at last'}}},
    {when: {first_user: 'cut off'}, reply: {text: TEXT, chunks: 8, drop: 'mid-stream'}},
    {when: {first_user: 'never'}, reply: {text: TEXT, delay_ms: 3000}},
    {when: {first_user_regex: 'number (\\d+)'}, reply: {text: 'number {{match:1}} is here'}},
    ...statuses.map(status => ({when: {first_user: `status ${status}`},
                                reply: fails(status, status === 429 ? {retry_after: '7'} : {})})),
];

const server = await Scripted.start({models: [{id: MODEL, window: 32768, max_output: 8192}], rules}, {key: KEY});
const clientWith = options => new Anthropic({baseURL: server.url.replace(/\/v1$/, ''), apiKey: KEY, maxRetries: 0, ...options});
const {messages} = clientWith();
const ask = (content, more = {}) => ({model: MODEL, max_tokens: 1000, messages: [{role: 'user', content}], ...more});

await check('a plain answer has all of its fields', async () => {
    const {data, response} = await messages.create(ask('say it')).withResponse();
    assert.equal(data.type, 'message');
    assert.match(data.id, /^msg_/);
    assert.equal(data.role, 'assistant');
    assert.equal(data.model, MODEL);
    assert.deepEqual(data.content.map(block => [block.type, block.text]), [['text', TEXT]]);
    assert.equal(data.stop_reason, 'end_turn');
    assert.equal(data.stop_sequence, null);
    assert.ok(data.usage.input_tokens > 0 && data.usage.output_tokens > 0);
    assert.ok(response.headers.get('request-id')?.length > 0, 'no request-id');
});

await check('events of a stream come in the order of the API and carry the same text', async () => {
    const events = [];
    for await (const event of await messages.create(ask('say it', {stream: true})))
        events.push(event);
    const kinds = events.map(event => event.type).filter(type => type !== 'ping');
    assert.deepEqual([kinds[0], kinds[1], ...kinds.slice(-3)],
                     ['message_start', 'content_block_start', 'content_block_stop', 'message_delta', 'message_stop']);
    assert.ok(kinds.slice(2, -3).every(type => type === 'content_block_delta'));
    assert.equal(events.map(event => event.delta?.text ?? '').join(''), TEXT);
    assert.equal(events.find(event => event.type === 'message_delta').delta.stop_reason, 'end_turn');
});

await check('the client puts a stream together: thinking, text, calls and usage are those of the plain answer', async () => {
    const whole = await messages.stream(ask('two cities', {tools})).finalMessage();
    const plain = await messages.create(ask('two cities', {tools}));
    assert.equal(whole.stop_reason, 'tool_use');
    assert.deepEqual(whole.content.map(block => block.type), ['thinking', 'text', 'tool_use', 'tool_use']);
    assert.deepEqual(whole.content, plain.content);
    assert.deepEqual(whole.content.slice(2).map(block => block.input), [{city: 'Zürich'}, {city: 'Oslo'}]);
    assert.equal(new Set(whole.content.slice(2).map(block => block.id)).size, 2);
    assert.equal(whole.usage.input_tokens, plain.usage.input_tokens);
    assert.equal(whole.usage.output_tokens, plain.usage.output_tokens);
});

// A conversation with the answers to both calls, as the API wants it: all results in one user message.
async function conversation(stream) {
    const asked = ask('two cities', {tools});
    const first = stream ? await messages.stream(asked).finalMessage() : await messages.create(asked);
    const results = first.content.filter(block => block.type === 'tool_use')
        .map(block => ({type: 'tool_result', tool_use_id: block.id, content: `snow in ${block.input.city}`}));
    return ask('two cities', {tools, messages: [...asked.messages, {role: 'assistant', content: first.content},
                                                {role: 'user', content: results}]});
}
for (const stream of [false, true]) {
    await check(`results of calls and the thinking before them go back (${stream ? 'streamed' : 'plain'})`, async () => {
        const asked = await conversation(stream);
        const answer = stream ? await messages.stream(asked).finalMessage() : await messages.create(asked);
        assert.equal(answer.content.at(-1).text, 'I was told: snow in Oslo');
    });
}

await check('400: a result is missing, a result is for nobody, thinking was changed', async () => {
    const asked = await conversation(false);
    const changes = [
        user => user.content.pop(),
        user => user.content.push({type: 'tool_result', tool_use_id: 'toolu_nobody', content: 'x'}),
        (user, assistant) => Object.assign(assistant.content[0], {thinking: 'something else'}),
    ];
    for (const change of changes) {
        const copy = structuredClone(asked);
        change(copy.messages[2], copy.messages[1]);
        const error = await failure(Anthropic.BadRequestError, () => messages.create(copy));
        assert.equal(error.error.error.type, 'invalid_request_error');
    }
});

await check('a limit cuts the answer and says so', async () => {
    const answer = await messages.create(ask('at length', {max_tokens: 20}));
    assert.equal(answer.stop_reason, 'max_tokens');
    assert.ok(answer.usage.output_tokens <= 20);
});

// What is wrong, and the words by which the error names it.
const refusals = [
    ['a field that the API does not know', {nonsense: 1}, /nonsense/],
    ['no output limit', {max_tokens: undefined}, /max_tokens/],
    ['an empty conversation', {messages: []}, /messages/],
    ['a system message among the messages of a user', {messages: [{role: 'nobody', content: 'x'}]}, /role/],
    ['an empty text block', {messages: [{role: 'user', content: [{type: 'text', text: ''}]}]}, /text/],
];
for (const [name, more, words] of refusals) {
    await check(`400: ${name} is a BadRequestError that names it`, async () => {
        const error = await failure(Anthropic.BadRequestError, () => messages.create(ask('say it', more)));
        assert.equal(error.status, 400);
        assert.equal(error.error.type, 'error');
        assert.equal(error.error.error.type, 'invalid_request_error');
        assert.match(error.message, words);
        assert.ok(error.requestID, 'no request id');
    });
}

await check('400: a request over the window is a BadRequestError that names both sizes', async () => {
    const error = await failure(Anthropic.BadRequestError, () => messages.create(ask('say it '.repeat(40_000))));
    assert.match(error.message, /\d+ tokens > 32768|too long/);
});

await check('401: a wrong key is an AuthenticationError', async () => {
    const error = await failure(Anthropic.AuthenticationError,
                                () => clientWith({apiKey: 'sk-wrong'}).messages.create(ask('say it')));
    assert.equal(error.error.error.type, 'authentication_error');
});

await check('404: an unknown model is a NotFoundError', async () => {
    const error = await failure(Anthropic.NotFoundError, () => messages.create({...ask('say it'), model: 'nobody'}));
    assert.equal(error.error.error.type, 'not_found_error');
});

const classes = {
    400: Anthropic.BadRequestError, 401: Anthropic.AuthenticationError, 403: Anthropic.PermissionDeniedError,
    404: Anthropic.NotFoundError, 409: Anthropic.ConflictError, 422: Anthropic.UnprocessableEntityError,
    429: Anthropic.RateLimitError, 500: Anthropic.InternalServerError, 529: Anthropic.InternalServerError,
};
for (const [status, kind] of Object.entries(classes)) {
    for (const stream of [false, true]) {
        await check(`a scripted ${status} becomes ${kind.name} (${stream ? 'streamed' : 'plain'})`, async () => {
            const error = await failure(kind, () => messages.create(ask(`status ${status}`, {stream})));
            assert.equal(error.status, Number(status));
            assert.match(error.message, new RegExp(`made to fail with ${status}`));
            assert.equal(error.headers.get('retry-after'), status === '429' ? '7' : null);
        });
    }
}

// Each asks until it is answered; the server's count shows how often.
for (const [text, requests] of [['first too often', 3], ['first broken', 2], ['first dropped', 2]]) {
    await check(`the client tries again and gets its answer: ${text}`, async () => {
        const before = (await server.idle()).requests;
        const answer = await messages.create(ask(text), {maxRetries: 4});
        assert.equal(answer.content[0].text, 'at last');
        assert.equal((await server.idle()).requests - before, requests);
    });
}

await check('a stream that is cut off fails after its first pieces', async () => {
    const stream = await messages.create(ask('cut off', {stream: true}));
    let text = '';
    await assert.rejects(async () => {
        for await (const event of stream)
            text += event.delta?.text ?? '';
    });
    assert.ok(text.length > 0 && text.length < TEXT.length && TEXT.startsWith(text), text);
});

await check('an answer that does not come in time is an APIConnectionTimeoutError', async () => {
    await failure(Anthropic.APIConnectionTimeoutError, () => messages.create(ask('never'), {timeout: 300}));
});

await check('forty clients at once each get their own answer', async () => {
    const answers = await Promise.all(Array.from({length: 40}, (_, i) => i % 2 === 0
        ? messages.create(ask(`number ${i}`)) : messages.stream(ask(`number ${i}`)).finalMessage()));
    assert.deepEqual(answers.map(answer => answer.content[0].text), answers.map((_, i) => `number ${i} is here`));
});

await check('the server ends well', () => server.stop());
finish();
