// OpenAI's official client as a peer of cadre-scripted, over the Responses API.
import assert from 'node:assert/strict';
import OpenAI from 'openai';
import {Scripted, check, failure, finish} from './harness.mjs';

const TEXT = 'The answer, in four pieces: à la carte, 日本語, 🙂 and a "quote".\nSecond line.';
const KEY = 'sk-peer';
const MODEL = 'gpt-5.1'; // a name of a family that reasons

const tools = [{
    type: 'function', name: 'weather', description: 'Weather of a city', strict: true,
    parameters: {type: 'object', properties: {city: {type: 'string'}}, required: ['city'], additionalProperties: false},
}];

const fails = (status, more) => ({status, error: `made to fail with ${status}`, ...more});
const statuses = [401, 403, 404, 409, 422, 429, 500];
const rules = [
    {when: {first_user: 'say it'}, reply: {text: TEXT}},
    {when: {first_user: 'at length'}, reply: {text: 'word ', repeat: 500}},
    {when: {first_user: 'as JSON'}, reply: {text: '{"city": "Oslo"}'}},
    {when: {first_user: 'two cities', turn: 0}, reply: {
        thinking: 'Two cities, two calls.', text: 'Let me look.',
        calls: [{name: 'weather', arguments: {city: 'Zürich'}}, {name: 'weather', arguments: {city: 'Oslo'}}]}},
    {when: {first_user: 'two cities', turn: 1}, reply: {text: 'I was told: {{last}}'}},
    {when: {first_user: 'first too often'}, reply: fails(429, {retry_after: '0', fail_times: 2, then: {text: 'at last'}})},
    {when: {first_user: 'first dropped'}, reply: {drop: 'before-headers', fail_times: 1, then: {text: 'at last'}}},
    {when: {first_user: 'cut off'}, reply: {text: TEXT, chunks: 8, drop: 'mid-stream'}},
    {when: {first_user_regex: 'number (\\d+)'}, reply: {text: 'number {{match:1}} is here'}},
    ...statuses.map(status => ({when: {first_user: `status ${status}`},
                                reply: fails(status, status === 429 ? {retry_after: '7'} : {})})),
];

const server = await Scripted.start({models: [{id: MODEL, window: 32768, max_output: 8192}], rules}, {key: KEY});
const clientWith = options => new OpenAI({baseURL: server.url, apiKey: KEY, maxRetries: 0, ...options});
const {responses} = clientWith();
const ask = (input, more = {}) => ({model: MODEL, input, store: false, ...more});

await check('a plain answer has all of its fields', async () => {
    const {data, request_id: id} = await responses.create(ask('say it')).withResponse();
    assert.equal(data.object, 'response');
    assert.match(data.id, /^resp_/);
    assert.equal(data.status, 'completed');
    assert.equal(data.model, MODEL);
    assert.equal(data.error, null);
    assert.equal(data.incomplete_details, null);
    assert.equal(data.output_text, TEXT);
    const [message] = data.output.filter(item => item.type === 'message');
    assert.equal(message.role, 'assistant');
    assert.deepEqual(message.content.map(part => [part.type, part.annotations]), [['output_text', []]]);
    assert.equal(data.usage.total_tokens, data.usage.input_tokens + data.usage.output_tokens);
    assert.ok(id?.length > 0, 'no x-request-id');
});

await check('events of a stream are numbered, begin and end as the API says, and carry the same text', async () => {
    const events = [];
    for await (const event of await responses.create(ask('say it', {stream: true})))
        events.push(event);
    assert.deepEqual(events.slice(0, 2).map(event => event.type), ['response.created', 'response.in_progress']);
    assert.equal(events.at(-1).type, 'response.completed');
    assert.deepEqual(events.map(event => event.sequence_number), events.map((_, i) => i));
    const deltas = events.filter(event => event.type === 'response.output_text.delta');
    assert.ok(deltas.length >= 4, `${deltas.length} pieces`);
    assert.equal(deltas.map(event => event.delta).join(''), TEXT);
    assert.equal(events.at(-1).response.output.at(-1).content[0].text, TEXT);
});

await check('the client puts a stream together: reasoning, text, calls and usage are those of the plain answer', async () => {
    const asked = ask('two cities', {tools, include: ['reasoning.encrypted_content']});
    const whole = await responses.stream(asked).finalResponse();
    const plain = await responses.create(asked);
    assert.deepEqual(whole.output.map(item => item.type), ['reasoning', 'message', 'function_call', 'function_call']);
    assert.deepEqual(whole.output.map(item => item.type), plain.output.map(item => item.type));
    const calls = response => response.output.filter(item => item.type === 'function_call')
        .map(item => [item.call_id, item.name, item.arguments]);
    assert.deepEqual(calls(whole), calls(plain));
    assert.deepEqual(calls(whole).map(([, , text]) => JSON.parse(text).city), ['Zürich', 'Oslo']);
    assert.ok(whole.output[0].encrypted_content.length > 0);
    assert.deepEqual(whole.usage, plain.usage);
});

// The conversation with the answers to both calls.
async function conversation(stream) {
    const asked = ask([{role: 'user', content: 'two cities'}], {tools, include: ['reasoning.encrypted_content']});
    const first = stream ? await responses.stream(asked).finalResponse() : await responses.create(asked);
    const results = first.output.filter(item => item.type === 'function_call').map(item => ({
        type: 'function_call_output', call_id: item.call_id, output: `snow in ${JSON.parse(item.arguments).city}`}));
    // The client adds what it parsed; the API does not know that.
    const items = first.output.map(({parsed_arguments, ...item}) => item.type === 'message'
        ? {...item, content: item.content.map(({parsed, ...part}) => part)} : item);
    return {...asked, input: [...asked.input, ...items, ...results]};
}
for (const stream of [false, true]) {
    await check(`results of calls and the reasoning before them go back (${stream ? 'streamed' : 'plain'})`, async () => {
        const asked = await conversation(stream);
        const answer = stream ? await responses.stream(asked).finalResponse() : await responses.create(asked);
        assert.equal(answer.output_text, 'I was told: snow in Oslo');
    });
}

await check('400: a result is missing, a result is for nobody', async () => {
    const asked = await conversation(false);
    for (const input of [asked.input.slice(0, -1),
                         [...asked.input, {type: 'function_call_output', call_id: 'call_nobody', output: 'x'}]]) {
        const error = await failure(OpenAI.BadRequestError, () => responses.create({...asked, input}));
        assert.match(error.message, /tool output found|tool call found|call_nobody/);
    }
});

await check('a limit makes the answer incomplete and says so', async () => {
    const answer = await responses.create(ask('at length', {max_output_tokens: 20}));
    assert.equal(answer.status, 'incomplete');
    assert.equal(answer.incomplete_details.reason, 'max_output_tokens');
    assert.ok(answer.usage.output_tokens <= 20);
});

await check('an answer with a schema is parsed by the client', async () => {
    const format = {type: 'json_schema', name: 'city', strict: true, schema: tools[0].parameters};
    const answer = await responses.parse(ask('as JSON', {text: {format}}));
    assert.equal(answer.output_text, '{"city": "Oslo"}');
});

// What is wrong, the fields that make it so, and the parameter by which the error names it.
const refusals = [
    ['a field that the API does not know', {nonsense: 1}, /nonsense/],
    ['a field of the other API', {max_tokens: 5}, /max_tokens/],
    ['a temperature out of range', {temperature: 9}, /temperature/],
    ['a strict schema that is open', {tools: [{...tools[0], parameters: {...tools[0].parameters, additionalProperties: true}}]},
     /additionalProperties/],
    ['an empty conversation', {input: []}, /input/],
];
for (const [name, more, words] of refusals) {
    await check(`400: ${name} is a BadRequestError that names it`, async () => {
        const error = await failure(OpenAI.BadRequestError, () => responses.create(ask('say it', more)));
        assert.equal(error.type, 'invalid_request_error');
        assert.match(error.message, words);
        assert.ok(error.requestID, 'no request id');
    });
}

await check('400: a request over the window is a BadRequestError with its code', async () => {
    const error = await failure(OpenAI.BadRequestError, () => responses.create(ask('say it '.repeat(40_000))));
    assert.equal(error.code, 'context_length_exceeded');
});

await check('401: a wrong key is an AuthenticationError', async () => {
    await failure(OpenAI.AuthenticationError, () => clientWith({apiKey: 'sk-wrong'}).responses.create(ask('say it')));
});

const classes = {
    401: OpenAI.AuthenticationError, 403: OpenAI.PermissionDeniedError, 404: OpenAI.NotFoundError,
    409: OpenAI.ConflictError, 422: OpenAI.UnprocessableEntityError, 429: OpenAI.RateLimitError,
    500: OpenAI.InternalServerError,
};
for (const [status, kind] of Object.entries(classes)) {
    for (const stream of [false, true]) {
        await check(`a scripted ${status} becomes ${kind.name} (${stream ? 'streamed' : 'plain'})`, async () => {
            const error = await failure(kind, () => responses.create(ask(`status ${status}`, {stream})));
            assert.equal(error.status, Number(status));
            assert.match(error.message, new RegExp(`made to fail with ${status}`));
            assert.equal(error.headers.get('retry-after'), status === '429' ? '7' : null);
        });
    }
}

for (const [text, requests] of [['first too often', 3], ['first dropped', 2]]) {
    await check(`the client tries again and gets its answer: ${text}`, async () => {
        const before = (await server.idle()).requests;
        const answer = await responses.create(ask(text), {maxRetries: 4});
        assert.equal(answer.output_text, 'at last');
        assert.equal((await server.idle()).requests - before, requests);
    });
}

await check('a stream that is cut off fails after its first pieces', async () => {
    const stream = await responses.create(ask('cut off', {stream: true}));
    let text = '';
    await assert.rejects(async () => {
        for await (const event of stream)
            text += event.type === 'response.output_text.delta' ? event.delta : '';
    });
    assert.ok(text.length > 0 && text.length < TEXT.length && TEXT.startsWith(text), text);
});

await check('forty clients at once each get their own answer', async () => {
    const answers = await Promise.all(Array.from({length: 40}, (_, i) => i % 2 === 0
        ? responses.create(ask(`number ${i}`)) : responses.stream(ask(`number ${i}`)).finalResponse()));
    assert.deepEqual(answers.map(answer => answer.output_text), answers.map((_, i) => `number ${i} is here`));
});

await check('the server ends well', () => server.stop());
finish();
