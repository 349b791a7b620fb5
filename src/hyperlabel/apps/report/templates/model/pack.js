// What the page carries: JSON and typed arrays in one gzipped base64 text (apps/report/pack.py writes it).
export async function unpack(text) {
  const bytes = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const raw = await new Response(stream).arrayBuffer();
  const length = Number(new DataView(raw).getBigUint64(0, true));
  const data = JSON.parse(new TextDecoder().decode(new Uint8Array(raw, 8, length)));
  const kinds = { Uint8Array, Uint16Array, Uint32Array, Float32Array, Float64Array };
  for (const [name, [kind, start, size]] of Object.entries(data.arrays)) {
    data[name] = new kinds[kind](raw, 8 + length + start, size);
  }
  return data;
}

// Counts at every threshold of a label: index t + 1 holds the rows whose bucket is above t.
export function counts(data, label) {
  const start = data.edgeStart[label], size = data.edgeStart[label + 1] - start;
  const predicted = new Float64Array(size + 2), hits = new Float64Array(size + 2);
  for (let t = size; t >= 0; t--) {
    const at = start + label + t;
    hits[t] = hits[t + 1] + data.withLabel[at];
    predicted[t] = predicted[t + 1] + data.withLabel[at] + data.without[at];
  }
  return { size, predicted, hits, rows: hits[0], edge: (t) => data.edges[start + t] };
}

export function measures(table, t) {
  return { ...measuresOf(table.hits[t + 1], table.predicted[t + 1], table.rows), review: toReview(table, t) };
}

export function measuresOf(hits, predicted, rows) {
  const precision = predicted ? hits / predicted : NaN, recall = rows ? hits / rows : NaN;
  const f1 = predicted + rows ? (2 * hits) / (predicted + rows) : NaN;
  return { predicted, hits, precision, recall, f1 };
}

// Rows below the threshold that must be read to find 95 of 100 rows that carry the label.
function toReview(table, t) {
  let low = table.size;
  while (low >= 0 && table.hits[low + 1] < 0.95 * table.rows) low--;
  return Math.max(0, table.predicted[low + 1] - table.predicted[t + 1]);
}

// A score of a row, as exactly as the page knows it: the middle between the thresholds it lies between.
export function scoreOf(data, label, row) {
  const start = data.edgeStart[label], size = data.edgeStart[label + 1] - start;
  const b = data.buckets[label * data.rows.length + row];
  if (!size) return 0;
  if (b === 0) return data.edges[start];
  if (b === size) return data.edges[start + size - 1];
  return (data.edges[start + b - 1] + data.edges[start + b]) / 2;
}

export function carriedBy(data, row) {
  return new Set(data.carried.subarray(data.carriedStart[row], data.carriedStart[row + 1]));
}
