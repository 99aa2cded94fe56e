// The page: an index of all entries, and their bodies in chunks that are inflated when they are shown.
const $ = id => document.getElementById(id);
const KINDS = ['user', 'assistant', 'tool', 'system', 'summary', 'compaction', 'label', 'setting', 'custom', 'attachment', 'progress', 'header', 'other'];
const NAMES = ['User', 'Assistant', 'Tool result', 'System', 'Branch summary', 'Compaction', 'Label', 'Setting', 'Extension', 'Attachment', 'Progress', 'Session', 'Note'];
const TOOL = 2, FOLD_AT = 4000, SHOW_AT = 24000, TALL = 6e6;
const number = new Intl.NumberFormat();
const clock = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const bytes = n => n < 1000 ? n + ' B' : n < 1e6 ? (n / 1e3).toFixed(1) + ' kB' : (n / 1e6).toFixed(1) + ' MB';
let D, N, chunkEls, imageEls;
// The shown entry at or above HEAD: in the tree, and in the conversation.
let headRow = -1, headTalk = -1;

async function inflate(node) {
	const raw = atob(node.textContent), buf = new Uint8Array(raw.length);
	for (let i = 0; i < raw.length; i++) buf[i] = raw.charCodeAt(i);
	return new Response(new Blob([buf]).stream().pipeThrough(new DecompressionStream('deflate-raw'))).text();
}
// The last chunks that were read.
const chunks = new Map();
const rawChunk = n => inflate(chunkEls[n]);
function chunk(n) {
	if (!chunks.has(n)) {
		chunks.set(n, rawChunk(n).then(JSON.parse));
		if (chunks.size > 24) chunks.delete(chunks.keys().next().value);
	}
	return chunks.get(n);
}
function chunkOf(i) {
	let a = 0, b = D.chunk.length - 1;
	while (a < b) { const m = (a + b + 1) >> 1; if (D.chunk[m] <= i) a = m; else b = m - 1; }
	return a;
}
const body = async i => { const c = chunkOf(i); return (await chunk(c))[i - D.chunk[c]]; };

// Rows of the tree: entries of the order that the filter and the search keep; hidden ones hand their children up.
const rows = { e: [], depth: [], end: [], fold: [], vis: [], folded: new Set() };
function makeRows() {
	const mode = +$('mode').value, bit = 1 << mode, rowOf = new Int32Array(N).fill(-1);
	const e = [], above = [], kids = [];
	let roots = 0;
	for (const i of D.order) {
		const p = D.parent[i] < 0 ? -1 : rowOf[D.parent[i]];
		rowOf[i] = p;
		if (!(D.mask[i] & bit) || (found && !found[i])) continue;
		rowOf[i] = e.length;
		e.push(i); above.push(p); kids.push(0);
		if (p < 0) roots++; else kids[p]++;
	}
	// A chain is a run of rows without a branch point; only branches indent.
	const depth = new Int32Array(e.length), first = new Uint8Array(e.length), end = new Int32Array(e.length);
	for (let r = 0; r < e.length; r++) {
		const p = above[r], goes = p < 0 ? r > 0 && roots === 1 : kids[p] === 1;
		depth[r] = p < 0 ? 0 : depth[p] + (goes ? 0 : 1);
		first[r] = goes ? 0 : 1;
		end[r] = r + 1;
	}
	for (let r = e.length - 1; r >= 0; r--) if (above[r] >= 0 && end[above[r]] < end[r]) end[above[r]] = end[r];
	Object.assign(rows, { e, depth, end, first, above, rowOf, folded: new Set() });
	headRow = D.head;
	while (headRow >= 0 && (rowOf[headRow] < 0 || e[rowOf[headRow]] !== headRow)) headRow = D.parent[headRow];
	fold();
	say();
}
function fold() {
	rows.vis = [];
	for (let r = 0; r < rows.e.length; r++) {
		rows.vis.push(r);
		if (rows.folded.has(r)) r = rows.end[r] - 1;
	}
	tree.size(rows.vis.length);
}
function say() {
	$('count').textContent = number.format(rows.e.length) + (rows.e.length === 1 ? ' entry' : ' entries') + (found ? searching ? ' so far' : ' found' : '');
}

// A list of rows of one height. Where it would be taller than browsers allow, the bar stands for shares, and the wheel moves rows.
const tree = {
	box: $('tree'), pad: $('tree').firstElementChild, at: 0, n: 0, high: 24,
	size(n) { this.n = n; this.pad.style.height = Math.min(n * this.high, TALL) + 'px'; this.from(); this.draw(); },
	scaled() { return this.n * this.high > TALL; },
	from() {
		const { scrollTop, clientHeight } = this.box;
		this.at = this.scaled() ? scrollTop / Math.max(1, TALL - clientHeight) * Math.max(0, this.n - clientHeight / this.high) : scrollTop / this.high;
	},
	to(at) {
		at = Math.max(0, Math.min(at, this.n - this.box.clientHeight / this.high));
		this.box.scrollTop = this.scaled() ? at / Math.max(1, this.n - this.box.clientHeight / this.high) * (TALL - this.box.clientHeight) : at * this.high;
		this.at = at;
		this.draw();
	},
	reveal(v) { const room = this.box.clientHeight / this.high; if (v < this.at || v > this.at + room - 2) this.to(v - room / 2); else this.draw(); },
	draw() {
		const from = Math.max(0, Math.floor(this.at)), room = Math.ceil(this.box.clientHeight / this.high) + 2, list = $('rows'), out = [];
		for (let v = from; v < Math.min(this.n, from + room); v++) out.push(treeRow(v));
		list.replaceChildren(...out);
		list.style.transform = `translateY(${this.box.scrollTop - (this.at - from) * this.high}px)`;
		const on = out.find(r => r.classList.contains('sel'));
		if (on) this.box.setAttribute('aria-activedescendant', on.id); else this.box.removeAttribute('aria-activedescendant');
	},
};
function treeRow(v) {
	const r = rows.vis[v], i = rows.e[r], kind = KINDS[D.kind[i]], row = el('div', 'row ' + kind);
	row.id = 'r' + r;
	row.setAttribute('role', 'treeitem');
	row.setAttribute('aria-level', rows.depth[r] + 1);
	row.setAttribute('aria-selected', i === chosen);
	row.setAttribute('aria-setsize', rows.e.length);
	row.setAttribute('aria-posinset', r + 1);
	row.classList.toggle('path', !!onPath[i]);
	row.classList.toggle('sel', i === chosen);
	row.style.paddingLeft = 6 + Math.min(24, rows.depth[r]) * 12 + 'px';
	const canFold = rows.first[r] && rows.end[r] > r + 1, mark = el('span', 'fold', canFold ? rows.folded.has(r) ? '▸' : '▾' : '');
	mark.setAttribute('aria-hidden', 'true');
	if (canFold) {
		row.setAttribute('aria-expanded', !rows.folded.has(r));
		mark.onclick = ev => { ev.stopPropagation(); toggle(r); };
	}
	row.append(mark, el('span', 'k ' + kind));
	if (i === headRow) row.append(el('span', 'head', 'HEAD'));
	if (D.label[i]) row.append(el('span', 'tag', D.label[i]));
	row.append(el('span', 's', D.sum[i] || NAMES[D.kind[i]]));
	row.title = D.sum[i];
	row.onclick = () => { choose(i, true); document.body.classList.remove('side'); };
	return row;
}
function toggle(r) {
	if (rows.folded.has(r)) rows.folded.delete(r); else rows.folded.add(r);
	fold();
}

// The conversation: the path from the root to the chosen entry, as groups of a reply with the results of its calls.
let chosen = -1, onPath = new Uint8Array(0), path = [], groups = [], target = -1;
function choose(i, jump) {
	chosen = i;
	onPath.fill(0);
	path = [];
	for (let p = i; p >= 0 && !onPath[p]; p = D.parent[p]) { onPath[p] = 1; path.push(p); }
	path.reverse();
	groups = [];
	let last = -1;
	path.forEach((p, k) => {
		if (!(D.mask[p] & 32) && !(jump && p === i && i !== D.leaf)) return;
		const tool = D.kind[p] === TOOL, talk = D.kind[p] === 1;
		const joins = last >= 0 && (tool || talk && D.kind[groups[last].at(-1)] === 1) && D.kind[groups[last][0]] === 1 && groups[last].length < 24;
		if (joins) groups[last].push(p); else last = groups.push([p]) - 1;
	});
	target = i;
	overview();
	if (jump) { show(i); history.replaceState(null, '', '#' + encodeURIComponent(D.id[i])); }
	reveal(i);
}
function reveal(i) {
	const r = rows.rowOf[i];
	if (r === undefined || r < 0) return tree.draw();
	for (const f of rows.folded) if (f < r && r < rows.end[f]) { rows.folded.delete(f); fold(); }
	let a = 0, b = rows.vis.length - 1;
	while (a < b) { const m = (a + b + 1) >> 1; if (rows.vis[m] <= r) a = m; else b = m - 1; }
	tree.reveal(a);
}
const groupOf = i => {
	for (let k = groups.length - 1; k >= 0; k--) if (groups[k].includes(i)) return k;
	// A hidden entry: the group before it.
	for (let p = i; p >= 0; p = D.parent[p]) { const k = groups.findIndex(g => g.includes(p)); if (k >= 0) return k; }
	return 0;
};
const show = i => conv.jump(groupOf(i));

// A list of items of any height: an anchor, and what fits around it. The scroll bar stands for shares of the list.
const conv = {
	box: $('conv'), pad: $('conv').firstElementChild, list: $('items'), first: 0, off: 0, last: 0, drawn: 0, nodes: new Map(), turn: 0, mine: -1,
	high() { return Math.min(Math.max(groups.length * 180, this.box.clientHeight + 1), TALL); },
	jump(k) { this.first = k; this.off = 0; this.place(); return this.draw(); },
	// Puts the scroll bar where the anchor is.
	place() {
		const room = this.high() - this.box.clientHeight;
		this.pad.style.height = this.high() + 'px';
		this.mine = Math.round(Math.max(this.first > 0 || this.off > 0 ? 2 : 0, Math.min(room - 2, room * this.first / Math.max(1, groups.length))));
		this.box.scrollTop = this.mine;
		this.last = this.box.scrollTop;
	},
	scrolled() {
		const top = this.box.scrollTop, by = top - this.last;
		this.last = top;
		if (Math.abs(by) < 1) return;
		if (Math.abs(by) > 3 * this.box.clientHeight) {
			const share = top / Math.max(1, this.high() - this.box.clientHeight);
			this.first = Math.min(groups.length - 1, Math.floor(share * groups.length));
			this.off = 0;
		} else this.move(by);
		this.draw();
	},
	move(by) {
		this.off += by;
		while (this.first < groups.length - 1) {
			const h = this.nodes.get(this.first)?.offsetHeight;
			if (!h || this.off < h) break;
			this.off -= h;
			this.first++;
		}
		while (this.off < 0 && this.first > 0) {
			this.first--;
			this.off += this.nodes.get(this.first)?.offsetHeight || 180;
		}
		if (this.off < 0) this.off = 0;
	},
	async draw() {
		const turn = ++this.turn, room = this.box.clientHeight;
		const keep = new Map();
		const get = async k => {
			let node = this.nodes.get(k);
			if (!node || node.group !== groups[k]) { node = await item(groups[k]); node.group = groups[k]; }
			keep.set(k, node);
			return node;
		};
		const list = [];
		const from = Math.max(0, this.first - 1);
		for (let k = from; k < Math.min(groups.length, this.first + 12); k++) {
			list.push(await get(k));
			if (turn !== this.turn) return;
		}
		this.list.replaceChildren(...list);
		this.nodes = keep;
		// More, until the window is full.
		let next = from + list.length, high = 0;
		for (const [k, node] of keep) if (k >= this.first) high += node.offsetHeight;
		while (high - this.off < room * 1.5 && next < groups.length) {
			const node = await get(next);
			if (turn !== this.turn) return;
			this.list.append(node);
			high += node.offsetHeight;
			next++;
		}
		// Not past the end.
		if (next >= groups.length && high - this.off < room) {
			let lack = room - (high - this.off);
			this.off -= lack;
			while (this.off < 0 && this.first > 0) {
				this.first--;
				if (!keep.has(this.first)) { const node = await get(this.first); if (turn !== this.turn) return; this.list.prepend(node); }
				this.off += keep.get(this.first).offsetHeight;
			}
			if (this.off < 0) this.off = 0;
		}
		this.settle();
	},
	settle() {
		let before = 0;
		for (const [k, node] of this.nodes) if (k < this.first) before += node.offsetHeight;
		const max = this.high() - this.box.clientHeight, top = this.box.scrollTop;
		const atStart = this.first === 0 && this.off <= 0;
		if (atStart && top > 0 || !atStart && (top <= 0 || top >= max - 1)) this.place();
		this.list.style.transform = `translateY(${this.box.scrollTop - this.off - before}px)`;
	},
};

async function item(group) {
	const bodies = await Promise.all(group.map(body)), first = group[0], kind = KINDS[D.kind[first]];
	const out = el('article', 'item ' + kind), h = el('div', 'h');
	out.setAttribute('aria-label', NAMES[D.kind[first]]);
	if (group.includes(target)) out.classList.add('target');
	h.append(el('b', '', NAMES[D.kind[first]]));
	const model = bodies.find(b => b.m)?.m;
	if (model) h.append(el('span', '', model));
	if (D.time[first]) { const t = el('time', '', clock.format(D.time[first])); t.dateTime = new Date(D.time[first]).toISOString(); h.append(t); }
	let used = null, cost = 0;
	for (const b of bodies) if (b.u) { used = b.u; cost += b.u[4]; }
	if (used) h.append(el('span', '', `${number.format(used[0] + used[2] + used[3])} in · ${number.format(used[1])} out` + (cost ? ` · $${cost.toFixed(cost < 1 ? 3 : 2)}` : '')));
	for (const i of group) {
		if (i === headTalk) h.append(el('span', 'head', 'HEAD'));
		if (D.label[i]) h.append(el('span', 'tag', D.label[i]));
	}
	const a = el('a', '', '#');
	a.href = '#' + encodeURIComponent(D.id[first]);
	a.title = 'Link to this entry';
	a.setAttribute('aria-label', 'Link to this entry');
	h.append(a);
	out.append(h);
	const results = new Map(), used_ = new Set();
	for (const b of bodies) for (const part of b.b) if (part[0] === 'r' && part[1]) results.set(part[1], part);
	group.forEach((i, k) => {
		const b = bodies[k];
		for (const part of b.b) {
			switch (part[0]) {
			case 't': out.append(long(part[1], D.kind[i] < 2 || D.kind[i] === 4 || D.kind[i] === 5)); break;
			case 'h': out.append(box('Thinking', bytes(part[1].length), () => [markdown(part[1])])); break;
			case 'c': {
				const r = results.get(part[1]);
				if (r) used_.add(r);
				out.append(call(part, r));
				break;
			}
			case 'r': if (!used_.has(part)) out.append(box(part[2] ? 'Failed' : 'Result', bytes(part[3].length), () => [long(part[3], false)], part[2], part[3].length < FOLD_AT)); break;
			case 'i': out.append(image(part)); break;
			case 'o': if (b.b.length > 1 || !b.x) out.append(el('p', 'note', '(' + part[1] + ')')); break;
			}
		}
		if (b.x) out.append(long(b.x, D.kind[i] === 4 || D.kind[i] === 5));
		for (const [name, value] of b.f ?? []) out.append(el('div', 'arg', name + ': ' + value));
	});
	return out;
}
function long(text, md) {
	if (text.length <= SHOW_AT) return md ? markdown(text) : codeBox(text);
	const out = el('div'), more = el('button', '', `Show all (${bytes(text.length)})`);
	let end = FOLD_AT;
	if (/[\ud800-\udbff]/.test(text[end - 1])) end--;
	out.append(md ? markdown(text.slice(0, end)) : codeBox(text.slice(0, end)), more);
	more.onclick = () => { out.replaceChildren(md && text.length < 4e5 ? markdown(text) : codeBox(text)); conv.draw(); };
	return out;
}
function box(title, note, make, err, open) {
	const d = el('details', 'box' + (err ? ' err' : '')), s = el('summary', '', title);
	s.append(el('span', 'n', note));
	d.append(s);
	const fill = () => { if (d.children.length === 1) { const inside = el('div'); inside.append(...make()); d.append(inside); } };
	if (open) { d.open = true; fill(); }
	d.ontoggle = () => { if (d.open) fill(); conv.draw(); };
	return d;
}
function call(part, r) {
	const [, , name, args] = part, words = args.find(([k]) => /^(command|cmd|file_path|path|pattern|query|url|prompt|description)$/.test(k))?.[1] ?? args[0]?.[1] ?? '';
	const note = r ? (r[2] ? 'failed' : bytes(r[3].length)) : 'no result';
	return box(`${name} ${words}`.replace(/\s+/g, ' ').slice(0, 200), note, () => {
		const out = [], seen = new Set(), get = k => args.find(a => a[0] === k)?.[1];
		for (const [o, n] of [['old_string', 'new_string'], ['oldText', 'newText'], ['old_str', 'new_str']]) {
			if (get(o) === undefined || get(n) === undefined) continue;
			seen.add(o).add(n);
			out.push(codeBox(diff(get(o).split('\n'), get(n).split('\n')), 'diff'));
		}
		for (const [k, v] of args) if (!seen.has(k)) out.push(el('div', 'arg', k), codeBox(v));
		if (r) out.push(el('div', 'arg', r[2] ? 'Failed' : 'Result'), long(r[3], false));
		return out;
	}, r?.[2]);
}
// The lines that two texts have in common at both ends stay; the rest went and came.
function diff(a, b) {
	let s = 0, e = 0;
	while (s < a.length && s < b.length && a[s] === b[s]) s++;
	while (e < a.length - s && e < b.length - s && a[a.length - 1 - e] === b[b.length - 1 - e]) e++;
	return [...a.slice(Math.max(0, s - 3), s).map(l => ' ' + l), ...a.slice(s, a.length - e).map(l => '-' + l), ...b.slice(s, b.length - e).map(l => '+' + l), ...a.slice(a.length - e, a.length - e + 3).map(l => ' ' + l)].join('\n');
}
const MAGIC = [['image/png', [0x89, 0x50, 0x4e, 0x47]], ['image/jpeg', [0xff, 0xd8, 0xff]], ['image/gif', [0x47, 0x49, 0x46, 0x38]], ['image/webp', [0x52, 0x49, 0x46, 0x46]]];
function image([, n, mime, size]) {
	const node = imageEls[n];
	if (!node) return el('p', 'note', `(image: ${mime}, ${bytes(size)}, not in this page)`);
	try {
		const raw = atob(node.textContent), buf = new Uint8Array(raw.length);
		for (let i = 0; i < raw.length; i++) buf[i] = raw.charCodeAt(i);
		const type = MAGIC.find(([, m]) => m.every((b, i) => buf[i] === b))?.[0];
		if (!type) throw 0;
		const img = el('img');
		img.alt = 'Image of the conversation';
		const url = URL.createObjectURL(new Blob([buf], { type }));
		img.onload = img.onerror = () => { URL.revokeObjectURL(url); conv.settle(); };
		img.src = url;
		return img;
	} catch { return el('p', 'note', `(image: ${mime}, ${bytes(size)}, can't be shown)`); }
}

// Search: all words, in the text, the label or the kind of an entry; chunk by chunk, so that the first hits come at once.
let found = null, searching = false, searchNo = 0;
async function search(typed) {
	const no = ++searchNo, words = typed.toLowerCase().split(/\s+/).filter(Boolean);
	if (!words.length) { found = null; searching = false; makeRows(); return reveal(chosen); }
	found = new Uint8Array(N);
	searching = true;
	const quoted = words.map(w => JSON.stringify(w).slice(1, -1));
	let shown = performance.now() - 150;
	for (let c = 0; c < chunkEls.length; c++) {
		const raw = await rawChunk(c);
		if (no !== searchNo) return;
		const small = raw.toLowerCase(), from = D.chunk[c], to = D.chunk[c + 1] ?? N;
		const inMeta = i => ((D.label[i] ?? '') + ' ' + KINDS[D.kind[i]]).toLowerCase();
		const all = quoted.every(w => small.includes(w));
		let list = null;
		for (let i = from; i < to; i++) {
			const meta = inMeta(i);
			if (!all && !words.some(w => meta.includes(w))) continue;
			list ??= JSON.parse(raw);
			const said = textOf(list[i - from]);
			if (words.every(w => meta.includes(w) || said.includes(w))) found[i] = 1;
		}
		if (performance.now() - shown > 150) {
			shown = performance.now();
			makeRows();
			await new Promise(f => setTimeout(f));
			if (no !== searchNo) return;
		}
	}
	searching = false;
	makeRows();
}
function textOf(b) {
	const out = [b.x ?? ''];
	for (const p of b.b) {
		if (p[0] === 't' || p[0] === 'h') out.push(p[1]);
		else if (p[0] === 'r') out.push(p[3]);
		else if (p[0] === 'c') { out.push(p[2]); for (const a of p[3]) out.push(a[1]); }
	}
	return out.join('\n').toLowerCase();
}

// What the path took, by turn.
function overview() {
	const svg = $('over').querySelector('svg'), turns = [];
	let tokens = 0, cost = 0;
	const models = new Map();
	for (const i of path) {
		if (D.mask[i] & 4 || !turns.length) turns.push({ i, out: 0, n: 0, c: false });
		const turn = turns.at(-1), used = D.used[i];
		if (D.kind[i] === 5) turn.c = true;
		if (used) { turn.n += used[0]; turn.c0 = (turn.c0 ?? 0) + used[1]; tokens += used[0]; cost += used[1]; models.set(used[2], (models.get(used[2]) ?? 0) + used[0]); }
	}
	$('over').hidden = !tokens;
	const most = Math.max(1, ...turns.slice(0, 1e5).map(t => t.n)), step = Math.ceil(turns.length / 240), bars = Math.ceil(turns.length / step);
	svg.setAttribute('viewBox', `0 0 ${bars * 4} 60`);
	const out = [], make = (name, set) => { const e = document.createElementNS('http://www.w3.org/2000/svg', name); for (const k in set) e.setAttribute(k, set[k]); return e; };
	for (let b = 0; b < bars; b++) {
		const some = turns.slice(b * step, b * step + step), n = Math.max(...some.map(t => t.n)), h = Math.max(1, n / most * 54);
		const bar = make('rect', { x: b * 4, y: 60 - h, width: 3, height: h }), t = make('title', {});
		t.textContent = `Turn ${b * step + 1}: ${number.format(n)} tokens` + (some[0].c0 ? `, $${some[0].c0.toFixed(3)}` : '');
		bar.append(t);
		bar.addEventListener('click', () => aim(some[0].i));
		out.push(bar);
		if (some.some(t => t.c)) out.push(make('line', { x1: b * 4, x2: b * 4, y1: 0, y2: 60 }));
	}
	svg.replaceChildren(...out);
	$('facts').textContent = `${number.format(turns.length)} turns · ${number.format(tokens)} tokens` + (cost ? ` · $${cost.toFixed(2)}` : '') +
		[...models].filter(([m]) => m).slice(0, 4).map(([m, n]) => ` · ${m} ${number.format(n)}`).join('');
}

const HELP = [['j k', 'Next, previous entry'], ['n N', 'Next, previous prompt'], ['← →', 'Fold, unfold (in the tree)'], ['/', 'Search'], ['h', 'Reset to HEAD'], ['t', 'Tree (narrow screens)'], ['?', 'Keys']];
function help() {
	const body = $('help').querySelector('tbody');
	body.replaceChildren(...HELP.map(([k, what]) => { const tr = el('tr'), td = el('td'); td.append(el('kbd', '', k)); tr.append(td, el('td', '', what)); return tr; }));
	$('help').showModal();
}
const toHead = () => { if (D.leaf >= 0) choose(D.leaf, true); };
function side() { $('show').setAttribute('aria-expanded', document.body.classList.toggle('side')); tree.from(); tree.draw(); }
function step(by, only) {
	let k = groupOf(target) + by;
	while (only && k >= 0 && k < groups.length && D.kind[groups[k][0]] !== 0) k += by;
	if (k >= 0 && k < groups.length) aim(groups[k][0]);
}
// Marks an entry of the conversation, and shows it.
function aim(i) {
	target = i;
	for (const [k, node] of conv.nodes) node.classList.toggle('target', groups[k].includes(i));
	show(i);
}
function keys(ev) {
	if (ev.ctrlKey || ev.metaKey || ev.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(ev.target.tagName)) {
		if (ev.key === 'Escape' && ev.target === $('find')) { $('find').value = ''; search(''); }
		return;
	}
	const inTree = ev.target === tree.box;
	if (inTree && /^(Arrow|Home|End|Enter)/.test(ev.key)) {
		const r = rows.rowOf[chosen], v = rows.vis.findIndex(x => x === r);
		let to = ev.key === 'ArrowDown' ? v + 1 : ev.key === 'ArrowUp' ? v - 1 : ev.key === 'Home' ? 0 : ev.key === 'End' ? rows.vis.length - 1 : -2;
		if (to === -2) {
			const canFold = r >= 0 && rows.first[r] && rows.end[r] > r + 1;
			if (ev.key === 'ArrowLeft') { if (canFold && !rows.folded.has(r)) toggle(r); else if (rows.above[r] >= 0) choose(rows.e[rows.above[r]], true); }
			if (ev.key === 'ArrowRight' && rows.folded.has(r)) toggle(r);
		} else if (rows.vis[to] !== undefined) choose(rows.e[rows.vis[to]], true);
		ev.preventDefault();
		return;
	}
	const does = { j: () => step(1), k: () => step(-1), n: () => step(1, true), N: () => step(-1, true), h: toHead, t: side, '?': help, '/': () => $('find').focus() }[ev.key];
	if (does) { ev.preventDefault(); does(); }
}
function fromHash() {
	let wanted = '';
	try { wanted = decodeURIComponent(location.hash.slice(1)); } catch { /* not a link of this page */ }
	const [from, to] = wanted.split('..'), end = wanted ? D.id.indexOf(to || from) : -1;
	if (end < 0) return false;
	choose(end, false);
	target = D.id.indexOf(from);
	if (target < 0 || !onPath[target]) target = end;
	show(target);
	return true;
}

async function start() {
	if (typeof DecompressionStream === 'undefined') {
		$('bar').textContent = 'This browser is too old for this page: it needs Chromium 103, Firefox 113 or Safari 16.4.';
		$('bar').hidden = false;
		return;
	}
	D = JSON.parse(await inflate(document.querySelector('script[type="application/x-bough-index"]')));
	N = D.id.length;
	chunkEls = document.querySelectorAll('script[type="application/x-bough-chunk"]');
	imageEls = document.querySelectorAll('script[type="application/x-bough-image"]');
	let at = 0;
	D.time = Float64Array.from(D.time, t => t === null ? 0 : (at += t));
	D.parent = Int32Array.from(D.parent, (p, i) => p === 0 ? -1 : i - p);
	D.mask = Uint8Array.from(D.mask);
	D.kind = Uint8Array.from(D.kind);
	D.order = D.order ? Int32Array.from(D.order) : Int32Array.from({ length: N }, (_, i) => i);
	onPath = new Uint8Array(N);
	$('title').textContent = D.title || 'Session';
	$('title').append(el('small', '', D.agent + (D.cwd ? ' · ' + D.cwd : '')));
	if (D.notes.length) { $('bar').textContent = D.notes.join(' · '); $('bar').hidden = false; $('bar').setAttribute('role', 'note'); }
	headTalk = D.head;
	while (headTalk >= 0 && !(D.mask[headTalk] & 32)) headTalk = D.parent[headTalk];
	makeRows();
	if (!fromHash()) {
		if (D.leaf >= 0) choose(D.leaf, false); else if (N) choose(D.order[0], false);
		conv.jump(0);
	}
	$('mode').onchange = () => { makeRows(); reveal(chosen); };
	let wait;
	$('find').oninput = () => { clearTimeout(wait); wait = setTimeout(() => search($('find').value), 120); };
	$('head').onclick = toHead;
	$('keys').onclick = help;
	$('show').onclick = side;
	$('theme').onclick = () => { const dark = matchMedia('(prefers-color-scheme:dark)').matches, root = document.documentElement; root.dataset.theme = (root.dataset.theme ?? (dark ? 'dark' : 'light')) === 'dark' ? 'light' : 'dark'; };
	tree.box.onscroll = () => { tree.from(); tree.draw(); };
	tree.box.addEventListener('wheel', ev => { if (tree.scaled()) { ev.preventDefault(); tree.to(tree.at + ev.deltaY / tree.high); } }, { passive: false });
	conv.box.onscroll = () => conv.scrolled();
	conv.box.addEventListener('keydown', ev => {
		const by = { ArrowDown: 60, ArrowUp: -60, PageDown: conv.box.clientHeight - 60, PageUp: 60 - conv.box.clientHeight, ' ': conv.box.clientHeight - 60 }[ev.key];
		if (ev.target === conv.box && by) { ev.preventDefault(); conv.move(by); conv.draw(); }
		if (ev.target === conv.box && ev.key === 'Home') conv.jump(0);
		if (ev.target === conv.box && ev.key === 'End') conv.jump(groups.length - 1);
	});
	document.addEventListener('keydown', keys);
	addEventListener('hashchange', fromHash);
	addEventListener('resize', () => { tree.from(); tree.draw(); conv.draw(); });
	document.addEventListener('click', ev => { if (document.body.classList.contains('side') && !ev.target.closest('nav,#show')) side(); });
	document.documentElement.dataset.ready = '1';
}
start();
