// A text model in the page: scikit-learn's CountVectorizer and TfidfVectorizer, then a linear map.
// Letters are those of the Python that wrote the page; lower case is Unicode's in both languages.
export class TextModel {
  constructor(data) {
    const v = (this.v = data.vectoriser);
    this.labels = data.labels.length;
    this.index = new Map(v.words.map((word, i) => [word, i]));
    this.factor = data.factor;
    this.base = data.base;
    this.letter = new RegExp(`[${v.letters}]`, "u");
    this.token = new RegExp(`[${v.letters}]{2,}`, "gu");
    this.marks = v.marks ? new RegExp(`[${v.marks}]`, "gu") : null;
    this.stop = new Set(v.stop);
    const n = v.words.length * this.labels, planes = data.weights;
    this.weights = new Float64Array(n);
    for (let i = 0; i < n; i++) {
      let coded = 0;
      for (let at = planes.length - n + i; at >= 0; at -= n) coded = coded * 256 + planes[at];
      this.weights[i] = (coded % 2 ? -(coded + 1) / 2 : coded / 2) * data.step;
    }
  }

  prepared(text) {
    const { lowercase, strip } = this.v;
    if (lowercase) {
      // capitals newer than that Python's Unicode are no letters to it and must not become any
      text = text.replace(/[\p{Lu}\p{Lt}]/gu, (c) => (this.letter.test(c) ? c : "\0")).toLowerCase();
    }
    if (strip === "ascii") return text.normalize("NFKD").replace(/[^\x00-\x7f]/g, "");
    return this.marks ? text.normalize("NFKD").replace(this.marks, "") : text;
  }

  tokens(text) {
    return (this.prepared(text).match(this.token) ?? []).filter((word) => !this.stop.has(word));
  }

  terms(text) {
    const words = this.tokens(text), [low, high] = this.v.ngrams;
    if (low === 1 && high === 1) return words;
    const terms = [];
    for (let n = low; n <= Math.min(high, words.length); n++) {
      for (let i = 0; i + n <= words.length; i++) terms.push(words.slice(i, i + n).join(" "));
    }
    return terms;
  }

  // Column → value of a text, as the vectoriser gives it.
  vector(text) {
    const { binary, sublinear, norm, scale } = this.v, row = new Map();
    for (const term of this.terms(text)) {
      const i = this.index.get(term);
      if (i !== undefined) row.set(i, binary ? 1 : (row.get(i) ?? 0) + 1);
    }
    let length = 0;
    for (const [i, count] of row) {
      const value = (sublinear ? Math.log(count) + 1 : count) * this.factor[i];
      row.set(i, value);
      length += norm === "l1" ? Math.abs(value) : value * value;
    }
    if (norm === "l2") length = Math.sqrt(length);
    for (const [i, value] of row) row.set(i, (scale * value) / (norm && length ? length : 1));
    return row;
  }

  scores(text) {
    const scores = Float64Array.from(this.base), k = this.labels;
    for (const [i, value] of this.vector(text)) {
      for (let j = 0; j < k; j++) scores[j] += value * this.weights[i * k + j];
    }
    return scores;
  }

  // What each term adds to the score of a label.
  shares(text, label) {
    const shares = new Map();
    for (const [i, value] of this.vector(text)) {
      shares.set(this.v.words[i], value * this.weights[i * this.labels + label]);
    }
    return shares;
  }

  // The text in pieces [piece, share]: a word takes the shares of the terms it is part of. Lower case may
  // change the length of a text, so words are looked up in the original and prepared one by one.
  marked(text, label) {
    const shares = this.shares(text, label), pieces = [];
    const ofWord = new Map();
    for (const [term, share] of shares) {
      const words = term.split(" ");
      for (const word of words) ofWord.set(word, (ofWord.get(word) ?? 0) + share / words.length);
    }
    let last = 0;
    for (const match of text.matchAll(new RegExp(`[${this.v.letters}\\p{M}]+`, "gu"))) {
      const share = this.tokens(match[0]).reduce((sum, word) => sum + (ofWord.get(word) ?? 0), 0);
      if (!share) continue;
      if (match.index > last) pieces.push([text.slice(last, match.index), 0]);
      pieces.push([match[0], share]);
      last = match.index + match[0].length;
    }
    if (last < text.length) pieces.push([text.slice(last), 0]);
    return pieces;
  }
}
