// mysql2 through a socket, or a port of 127.0.0.1: smoke.mjs SOCKET|PORT USER PASSWORD USER2 PASSWORD2
// [compress]. Prints `ok` at the end.
import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import mysql from "mysql2/promise";

// In compressed mode mysql2 compresses and decompresses packets by queues that take the next packet before the one in
// progress after 3 s, which a large packet takes on a busy machine: "packets out of order".
const queues = createRequire(createRequire(import.meta.url).resolve("mysql2"))("seq-queue");
const { createQueue } = queues;
queues.createQueue = () => createQueue(3_600_000);

const [place, user, password, user2, password2, compress] = process.argv.slice(2);
const same = (a, b) => {
  if (JSON.stringify(a) !== JSON.stringify(b)) throw new Error(`${JSON.stringify(a)} is not ${JSON.stringify(b)}`);
};

const at = place.startsWith('/') ? { socketPath: place } : { host: '127.0.0.1', port: Number(place) };
at.compress = compress === "compress";
const db = await mysql.createConnection({ ...at, user, password, multipleStatements: true });
const [sets] = await db.query("SELECT 1 AS a; SELECT 2 AS a");
same(sets, [[{ a: 1 }], [{ a: 2 }]]);

// Prepared on the server, executed twice.
for (const number of [7, 8]) {
  const [rows] = await db.execute("SELECT ? + 1 AS a", [number]);
  same(Number(rows[0].a), number + 1);
}

await db.query("CREATE DATABASE IF NOT EXISTS smoke");
await db.query("USE smoke");
await db.query("CREATE TABLE IF NOT EXISTS js (id INT PRIMARY KEY, body LONGBLOB)");
const body = Buffer.alloc(17 << 20, "0123456789abcde\n");
await db.query("REPLACE INTO js VALUES (1, ?)", [body]);
const [[row]] = await db.query("SELECT body, SHA2(body, 256) AS digest FROM js");
same(createHash("sha256").update(row.body).digest("hex"), row.digest);
same(row.body.length, body.length);

// COM_CHANGE_USER.
await db.changeUser({ user: user2, password: password2 });
const [[who]] = await db.query("SELECT SUBSTRING_INDEX(USER(), '@', 1) AS who");
same(who.who, user2);
await db.end();

// A pool, all of it at once.
const pool = mysql.createPool({ ...at, user, password, connectionLimit: 40 });
const answers = await Promise.all(Array.from({ length: 400 }, (_, n) => pool.query("SELECT ? AS n", [n])));
answers.forEach(([rows], n) => same(rows, [{ n }]));
await pool.end();
console.log("ok");
