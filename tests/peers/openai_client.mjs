// The official client as a peer of cadre-scripted: what this client accepts and reports, clients of the real API see.
import assert from 'node:assert/strict';
import OpenAI from 'openai';
import {LengthFinishReasonError} from 'openai/error';
import {Scripted, check, failure, finish} from './harness.mjs';

const TEXT = 'The answer, in four pieces: à la carte, 日本語, 🙂 and a "quote".\nSecond line.';
const KEY = 'sk-peer';

const tools = [{
    type: 'function',
    function: {
        name: 'weather',
        description: 'Weather of a city',
        parameters: {type: 'object', properties: {city: {type: 'string'}}, required: ['city'], additionalProperties: false},
    },
}];

const fails = (status, more) => ({status, error: `made to fail with ${status}`, ...more});
const rules = [
    {when: {first_user: 'say it'}, reply: {text: TEXT}},
    {when: {first_user: 'at length'}, reply: {text: 'word ', repeat: 500}},
    {when: {first_user: 'two cities', turn: 0}, reply: {
        text: 'Let me look.',
        calls: [{name: 'weather', arguments: {city: 'Zürich'}}, {name: 'weather', arguments: {city: 'Oslo'}}]}},
    {when: {first_user: 'two cities', turn: 1}, reply: {text: 'I was told: {{last}}'}},
    {when: {first_user: 'first too often'}, reply: fails(429, {retry_after: '0', fail_times: 2, then: {text: 'at last'}})},
    {when: {first_user: 'first broken'}, reply: fails(503, {fail_times: 1, then: {text: 'at last'}})},
    {when: {first_user: 'first dropped'}, reply: {drop: 'before-headers', fail_times: 1, then: {text: 'at last'}}},
    {when: {first_user: 'dropped'}, reply: {drop: 'before-headers'}},
    {when: {first_user: 'cut off'}, reply: {text: TEXT, chunks: 8, drop: 'mid-stream'}},
    {when: {first_user: 'slow'}, reply: {text: 'word ', repeat: 200, chunks: 100, chunk_delay_ms: 200}},
    {when: {first_user: 'never'}, reply: {text: TEXT, delay_ms: 3000}},
    {when: {first_user_regex: 'number (\\d+)'}, reply: {text: 'number {{match:1}} is here'}},
    {when: {first_user_regex: 'status 401'}, reply: fails(401)},
    {when: {first_user_regex: 'status 403'}, reply: fails(403)},
    {when: {first_user_regex: 'status 404'}, reply: fails(404)},
    {when: {first_user_regex: 'status 409'}, reply: fails(409)},
    {when: {first_user_regex: 'status 422'}, reply: fails(422)},
    {when: {first_user_regex: 'status 429'}, reply: fails(429, {retry_after: '7'})},
    {when: {first_user_regex: 'status 500'}, reply: fails(500)},
];
const script = {models: [{id: 'scripted', window: 32768, max_output: 8192}], rules};

const server = await Scripted.start(script, {key: KEY});
const clientWith = options => new OpenAI({baseURL: server.url, apiKey: KEY, maxRetries: 0, ...options});
const client = clientWith();
const completions = client.chat.completions;
const ask = (content, more = {}) => ({model: 'scripted', messages: [{role: 'user', content}], ...more});

async function pieces(stream) {
    const chunks = [];
    for await (const chunk of stream)
        chunks.push(chunk);
    return chunks;
}

await check('models are listed and pages end', async () => {
    const ids = [];
    for await (const model of client.models.list())
        ids.push(`${model.object} ${model.id}`);
    assert.deepEqual(ids, ['model scripted']);
});

await check('a plain answer has all of its fields', async () => {
    const {data, response, request_id: id} = await completions.create(ask('say it')).withResponse();
    assert.equal(data.object, 'chat.completion');
    assert.match(data.id, /^chatcmpl-/);
    assert.equal(data.model, 'scripted');
    assert.ok(Number.isInteger(data.created));
    assert.equal(data.choices.length, 1);
    assert.deepEqual(data.choices[0].index, 0);
    assert.equal(data.choices[0].finish_reason, 'stop');
    assert.equal(data.choices[0].message.role, 'assistant');
    assert.equal(data.choices[0].message.content, TEXT);
    assert.equal(data.choices[0].message.tool_calls, undefined);
    assert.ok(data.usage.prompt_tokens > 0 && data.usage.completion_tokens > 0);
    assert.equal(data.usage.total_tokens, data.usage.prompt_tokens + data.usage.completion_tokens);
    assert.match(response.headers.get('content-type'), /^application\/json/);
    assert.ok(id?.length > 0, 'no x-request-id');
});

await check('a stream carries the same text, one finish and no usage that nobody asked for', async () => {
    const chunks = await pieces(await completions.create(ask('say it', {stream: true})));
    assert.ok(chunks.length >= 4, `${chunks.length} chunks`);
    assert.ok(chunks.every(chunk => chunk.object === 'chat.completion.chunk' && chunk.id === chunks[0].id));
    assert.equal(chunks[0].choices[0].delta.role, 'assistant');
    assert.equal(chunks.map(chunk => chunk.choices[0]?.delta.content ?? '').join(''), TEXT);
    assert.deepEqual(chunks.map(chunk => chunk.choices[0]?.finish_reason).filter(Boolean), ['stop']);
    assert.ok(chunks.every(chunk => !chunk.usage && chunk.choices.length === 1));
});

await check('include_usage adds one last chunk without choices, and its counts are those of the plain answer', async () => {
    const chunks = await pieces(await completions.create(ask('say it', {stream: true, stream_options: {include_usage: true}})));
    const last = chunks.at(-1);
    const plain = await completions.create(ask('say it'));
    assert.deepEqual(last.choices, []);
    assert.ok(chunks.slice(0, -1).every(chunk => chunk.usage === null));
    assert.equal(last.usage.prompt_tokens, plain.usage.prompt_tokens);
    assert.equal(last.usage.completion_tokens, plain.usage.completion_tokens);
});

await check('tool calls of a plain answer have ids, names and JSON arguments', async () => {
    const {choices: [choice]} = await completions.create(ask('two cities', {tools}));
    assert.equal(choice.finish_reason, 'tool_calls');
    assert.equal(choice.message.content, 'Let me look.');
    const calls = choice.message.tool_calls;
    assert.deepEqual(calls.map(call => [call.type, call.function.name, JSON.parse(call.function.arguments).city]),
                     [['function', 'weather', 'Zürich'], ['function', 'weather', 'Oslo']]);
    assert.equal(new Set(calls.map(call => call.id)).size, 2);
});

await check('the client puts streamed tool calls together again', async () => {
    const stream = completions.stream(ask('two cities', {tools, stream_options: {include_usage: true}}));
    const whole = await stream.finalChatCompletion();
    const plain = await completions.create(ask('two cities', {tools}));
    assert.equal(whole.choices[0].finish_reason, 'tool_calls');
    assert.deepEqual(whole.choices[0].message.tool_calls.map(call => [call.id, call.function.name, call.function.arguments]),
                     plain.choices[0].message.tool_calls.map(call => [call.id, call.function.name, call.function.arguments]));
    assert.equal((await stream.totalUsage()).total_tokens, plain.usage.total_tokens);
});

for (const stream of [false, true]) {
    await check(`the client's own tool loop comes to its end (${stream ? 'streamed' : 'plain'})`, async () => {
        const asked = [];
        const runner = completions.runTools(ask('two cities', {
            stream,
            tools: [{...tools[0], function: {...tools[0].function, parse: JSON.parse, function: ({city}) => {
                asked.push(city);
                return `snow in ${city}`;
            }}}]}));
        assert.equal(await runner.finalContent(), 'I was told: snow in Oslo');
        assert.deepEqual(asked, ['Zürich', 'Oslo']);
    });
}

await check('a limit cuts the answer and says so', async () => {
    const {choices: [choice], usage} = await completions.create(ask('at length', {max_completion_tokens: 20}));
    assert.equal(choice.finish_reason, 'length');
    assert.ok(usage.completion_tokens <= 20);
    const response_format = {type: 'json_schema', json_schema: {name: 'x', schema: {type: 'object'}}};
    await failure(LengthFinishReasonError,
                  () => completions.parse(ask('at length', {max_completion_tokens: 20, response_format})));
});

// What is wrong, the fields that make it so, and the parameter and words by which the error names it.
const refusals = [
    ['a field that the API does not know', {nonsense: 1}, null, /nonsense/],
    ['a temperature out of range', {temperature: 9}, 'temperature', /temperature/],
    ['an empty list of tools', {tools: []}, 'tools', /tools/],
    ['a tool answer without its call', {messages: [{role: 'tool', tool_call_id: 'x', content: 'y'}]}, 'messages.[0].role',
     /preceeding message|tool_calls/],
    ['an empty conversation', {messages: []}, 'messages', /messages/],
];
for (const [name, more, param, words] of refusals) {
    await check(`400: ${name} is a BadRequestError that names it`, async () => {
        const error = await failure(OpenAI.BadRequestError, () => completions.create(ask('say it', more)));
        assert.equal(error.status, 400);
        assert.equal(error.type, 'invalid_request_error');
        assert.equal(error.param, param);
        assert.match(error.message, words);
        assert.ok(error.requestID, 'no request id');
    });
}

await check('400: a request over the window is a BadRequestError with its code', async () => {
    const error = await failure(OpenAI.BadRequestError, () => completions.create(ask('say it '.repeat(40_000))));
    assert.equal(error.code, 'context_length_exceeded');
});

await check('401: a wrong key is an AuthenticationError', async () => {
    const error = await failure(OpenAI.AuthenticationError,
                                () => clientWith({apiKey: 'sk-wrong'}).chat.completions.create(ask('say it')));
    assert.equal(error.status, 401);
    assert.equal(error.code, 'invalid_api_key');
});

await check('404: an unknown model is a NotFoundError', async () => {
    const error = await failure(OpenAI.NotFoundError, () => completions.create({...ask('say it'), model: 'nobody'}));
    assert.equal(error.code, 'model_not_found');
});

await check('404: an unknown path is a NotFoundError', async () => {
    await failure(OpenAI.NotFoundError, () => client.embeddings.create({model: 'scripted', input: 'x'}));
});

const classes = {
    401: OpenAI.AuthenticationError, 403: OpenAI.PermissionDeniedError, 404: OpenAI.NotFoundError,
    409: OpenAI.ConflictError, 422: OpenAI.UnprocessableEntityError, 429: OpenAI.RateLimitError,
    500: OpenAI.InternalServerError,
};
for (const [status, kind] of Object.entries(classes)) {
    for (const stream of [false, true]) {
        await check(`a scripted ${status} becomes ${kind.name} (${stream ? 'streamed' : 'plain'})`, async () => {
            const error = await failure(kind, () => completions.create(ask(`status ${status}`, {stream})));
            assert.equal(error.status, Number(status));
            assert.match(error.message, new RegExp(`made to fail with ${status}`));
            assert.equal(error.headers.get('retry-after'), status === '429' ? '7' : null);
        });
    }
}

// Each asks until it is answered; the server's count shows how often.
const retried = [['first too often', 3], ['first broken', 2], ['first dropped', 2]];
for (const [text, requests] of retried) {
    await check(`the client tries again and gets its answer: ${text}`, async () => {
        const before = (await server.idle()).requests;
        const {choices: [choice]} = await completions.create(ask(text), {maxRetries: 4});
        assert.equal(choice.message.content, 'at last');
        assert.equal((await server.idle()).requests - before, requests);
    });
}

await check('a connection that is closed without an answer is an APIConnectionError', async () => {
    await failure(OpenAI.APIConnectionError, () => completions.create(ask('dropped')));
});

await check('a stream that is cut off fails after its first pieces', async () => {
    const stream = await completions.create(ask('cut off', {stream: true}));
    let text = '';
    await assert.rejects(async () => {
        for await (const chunk of stream)
            text += chunk.choices[0]?.delta.content ?? '';
    });
    assert.ok(text.length > 0 && text.length < TEXT.length && TEXT.startsWith(text), text);
});

await check('an answer that does not come in time is an APIConnectionTimeoutError', async () => {
    await failure(OpenAI.APIConnectionTimeoutError, () => completions.create(ask('never'), {timeout: 300}));
});

await check('a stream that the client gives up is over for the server too', async () => {
    const before = await server.idle();
    const stream = await completions.create(ask('slow', {stream: true}));
    for await (const chunk of stream) {
        if (chunk.choices[0]?.delta.content)
            break;
    }
    stream.controller.abort();
    assert.equal((await server.idle()).cut - before.cut, 1);
});

await check('sixty streams at once each get their own answer', async () => {
    const answers = await Promise.all(Array.from({length: 60}, async (_, i) => {
        const chunks = await pieces(await completions.create(ask(`number ${i}`, {stream: true})));
        return chunks.map(chunk => chunk.choices[0]?.delta.content ?? '').join('');
    }));
    assert.deepEqual(answers, answers.map((_, i) => `number ${i} is here`));
});

await check('the server ends well', () => server.stop());
finish();
