// What the tools cost in every request, counted with a real tokenizer (o200k) on requests of `cadre run`.
import assert from 'node:assert/strict';
import {encode} from 'gpt-tokenizer/encoding/o200k_base';
import {Recorder, Scripted, Workspace, check, finish} from './harness.mjs';

const DOORS = ['spawn_agent', 'delegate_task'];
const rules = [
    {when: {first_user: 'ROOT', turn: 0}, reply: {calls: [{name: 'spawn_agent', arguments: {task: 'CHILD'}}]}},
    {reply: {text: 'done'}},
];
// What a person at the terminal would be asked for.
const permissions = Object.fromEntries(['write', 'edit', 'multi_edit', 'delete', 'shell', 'test', 'git_commit']
    .map(name => [name, 'allow']));

// The tools of a root's first request and of its child's.
async function offered(config) {
    const server = await Scripted.start({models: [{id: 'scripted', window: 32768, max_output: 8192}], rules});
    const recorder = await Recorder.start(server.url);
    const space = await Workspace.create({'a.txt': 'one\n'}, JSON.stringify(config));
    try {
        const end = await space.cadre('run', ['--base-url', recorder.url, '--model', 'scripted', '--json', 'ROOT']);
        assert.equal(end.code, 0, end.stdout + end.stderr);
        const [root, child] = recorder.requests.map(request => request.body.tools);
        await space.remove();
        return {root, child};
    } finally {
        await recorder.stop();
        await server.stop();
    }
}

const tokens = tools => encode(JSON.stringify(tools)).length;
const names = tools => tools.map(tool => tool.function.name);

await check('a root with every default tool: at most 2,500 tokens', async () => {
    const {root} = await offered({permissions});
    assert.ok(names(root).includes('shell') && names(root).includes('edit'), names(root).join(' '));
    console.log(`         ${root.length} tools, ${tokens(root)} tokens`);
    assert.ok(tokens(root) <= 2500, `${tokens(root)} tokens`);
});

await check('a default child: at most 1,500 tokens; spawn_agent and delegate_task: at most 300', async () => {
    // With every tool that a person at the terminal would be asked for, and as mode auto has it.
    const {child} = await offered({permissions});
    assert.ok(names(child).includes('shell') && names(child).includes('edit'), names(child).join(' '));
    const doors = child.filter(tool => DOORS.includes(tool.function.name));
    assert.equal(doors.length, 2);
    console.log(`         ${child.length} tools, ${tokens(child)} tokens, of them ${tokens(doors)} for ${DOORS.join(' and ')}`);
    assert.ok(tokens(child) <= 1500, `${tokens(child)} tokens`);
    assert.ok(tokens(doors) <= 300, `${tokens(doors)} tokens`);
});
finish();
