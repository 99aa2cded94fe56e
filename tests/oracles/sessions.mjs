// What pi, pi-old, oh-my-pi and the harness see in session files: reads a path a line, prints an answer a line.
//
//     node tests/oracles/sessions.mjs pi|pi-old|harness FOLDER     bun tests/oracles/sessions.mjs omp FOLDER
//
// FOLDER holds the installed programs. Each file is copied first, since some programs write when they load. The texts of
// messages are joined as in the reference answers, which have only the first digits of their SHA-256.
import { createHash } from "node:crypto";
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";

const [program, peers] = process.argv.slice(2);
const from = (path) => import(join(peers, program === "harness" ? "pi-harness" : program, "node_modules", path));
const work = mkdtempSync(join(tmpdir(), "bough-peers-program-"));
process.env.HOME = work;
process.env.PI_CODING_AGENT_DIR = join(work, "agent");

// A loaded session: its leaf, its path, its labels, its context.
const openers = {
	pi: async () => tree((await from("@earendil-works/pi-coding-agent/dist/core/session-manager.js")).SessionManager),
	"pi-old": async () => tree((await from("@mariozechner/pi-coding-agent/dist/core/session-manager.js")).SessionManager),
	omp: async () => {
		const { SessionManager } = await from("@oh-my-pi/pi-coding-agent/src/session/session-manager.ts");
		const open = (file) => SessionManager.open(file, work, undefined, { suppressBreadcrumb: true, initialCwd: work });
		return tree({ open });
	},
	harness: async () => {
		const dist = "@earendil-works/pi-agent-core/dist/harness";
		const { NodeExecutionEnv } = await from(`${dist}/env/nodejs.js`);
		const { JsonlSessionStorage } = await from(`${dist}/session/jsonl-storage.js`);
		const { Session } = await from(`${dist}/session/session.js`);
		return async (file) => {
			const storage = await JsonlSessionStorage.open(new NodeExecutionEnv({ cwd: work }), file);
			const session = new Session(storage);
			const ids = (await session.getEntries()).map((entry) => entry.id);
			const labels = await Promise.all(ids.map(async (id) => [id, await storage.getLabel(id)]));
			return answer(await session.getLeafId(), await session.getBranch(), labels, await session.buildContext());
		};
	},
};

const tree = (SessionManager) => async (file) => {
	const bytes = readFileSync(file);
	const session = await SessionManager.open(file, work, work);
	// Some begin anew where they can make nothing of a file.
	if (!bytes.includes(session.getSessionId())) throw new Error("the program begins a new session");
	const ids = session.getEntries().map((entry) => entry?.id).filter((id) => id != null);
	const labels = ids.map((id) => [id, session.getLabel(id)]);
	const found = answer(session.getLeafId(), session.getBranch(), labels, session.buildSessionContext());
	await session.close?.();
	return found;
};

const answer = (leaf, path, labels, context) => ({
	leaf: leaf ?? null,
	path_ids: path.map((entry) => entry.id),
	labels: Object.fromEntries(labels.filter(([, label]) => label)),
	context_messages: context.messages.map((message) => ({ role: message.role, text: text(message), text_sha: digest(text(message)), content: message.content ?? text(message) })),
});

const digest = (text) => createHash("sha256").update(text).digest("hex").slice(0, 16);

const text = (message) => {
	if (message.role === "branchSummary" || message.role === "compactionSummary") return message.summary ?? "";
	if (message.role === "bashExecution") return `${message.command ?? ""}\n${message.output ?? ""}`;
	if (typeof message.content === "string") return message.content;
	if (!Array.isArray(message.content)) return "";
	return message.content.filter((block) => block?.type !== "thinking").map(word).join("\n");
};

const word = (block) => {
	if (block?.type === "text") return block.text;
	if (block?.type === "toolCall") return `[toolCall ${block.name}]`;
	return block?.type === "image" ? `[image ${block.mimeType}]` : `[${block?.type}]`;
};

const open = await openers[program]();
for await (const file of createInterface({ input: process.stdin })) {
	const copy = join(work, basename(file));
	copyFileSync(file, copy);
	let found;
	try {
		found = await open(copy);
	} catch (error) {
		found = { error: `${error.name}: ${error.message}` };
	}
	rmSync(copy, { force: true });
	process.stdout.write(`${JSON.stringify(found)}\n`);
}
rmSync(work, { recursive: true, force: true });
process.exit(0);
