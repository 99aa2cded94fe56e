// Inflates at once: for print, which does not wait, and for browsers without DecompressionStream.
function unpack(from) {
	let out = new Uint8Array(from.length * 5 + 64), n = 0, at = 0, hold = 0, has = 0;
	const bits = k => {
		while (has < k) { hold |= from[at++] << has; has += 8; }
		const value = hold & (1 << k) - 1;
		hold >>>= k;
		has -= k;
		return value;
	};
	const room = k => {
		if (n + k <= out.length) return;
		const more = new Uint8Array(2 * out.length + k);
		more.set(out);
		out = more;
	};
	// A code: how many signs each length has, and the signs in the order of their codes.
	const code = lengths => {
		const count = new Uint16Array(16), place = new Uint16Array(17), signs = [];
		for (const length of lengths) count[length]++;
		count[0] = 0;
		for (let l = 1; l < 16; l++) place[l + 1] = place[l] + count[l];
		lengths.forEach((length, sign) => { if (length) signs[place[length]++] = sign; });
		return { count, signs };
	};
	const sign = ({ count, signs }) => {
		for (let l = 1, word = 0, first = 0, index = 0; l < 16; l++) {
			word |= bits(1);
			if (word - first < count[l]) return signs[index + word - first];
			index += count[l];
			first = first + count[l] << 1;
			word <<= 1;
		}
		throw Error('damaged');
	};
	// Lengths and distances: the least of each sign, and how many bits follow it.
	const steps = (n, from, every) => {
		const least = [], more = [];
		for (let s = 0, value = from; s < n; s++) { least[s] = value; more[s] = Math.max(0, (s / every | 0) - 1); value += 1 << more[s]; }
		return { least, more };
	};
	const long = steps(28, 3, 4), far = steps(30, 1, 2);
	long.least[28] = 258;
	long.more[28] = 0;
	for (let last = 0; !last;) {
		last = bits(1);
		const kind = bits(2);
		if (!kind) {
			hold = has = 0;
			const k = from[at] | from[at + 1] << 8;
			at += 4;
			room(k);
			out.set(from.subarray(at, at + k), n);
			at += k;
			n += k;
			continue;
		}
		let lengths = [...Array(288)].map((_, s) => s < 144 ? 8 : s < 256 ? 9 : s < 280 ? 7 : 8), most = 288;
		let rest = Array(30).fill(5);
		if (kind === 2) {
			most = bits(5) + 257;
			const others = bits(5) + 1, few = Array(19).fill(0), all = [];
			for (let k = bits(4) + 4, s = 0; s < k; s++) few[[16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15][s]] = bits(3);
			for (const first = code(few); all.length < most + others;) {
				const s = sign(first);
				if (s < 16) all.push(s);
				else for (let value = s === 16 ? all.at(-1) : 0, k = s === 16 ? bits(2) + 3 : s === 17 ? bits(3) + 3 : bits(7) + 11; k--;) all.push(value);
			}
			lengths = all.slice(0, most);
			rest = all.slice(most);
		}
		for (const first = code(lengths), second = code(rest); ;) {
			const s = sign(first);
			if (s === 256) break;
			room(258);
			if (s < 256) { out[n++] = s; continue; }
			let k = long.least[s - 257] + bits(long.more[s - 257]);
			const d = sign(second);
			let back = far.least[d] + bits(far.more[d]);
			for (; k--; n++) out[n] = out[n - back];
		}
	}
	return out.subarray(0, n);
}
