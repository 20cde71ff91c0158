// TypeORM on tables with kept versions. It asks for no version while it writes. What keeps a stale write out is one
// snapshot for reading and writing, or a version that is written.

'use strict';

const { DataSource, EntitySchema, OptimisticLockVersionMismatchError } = require('typeorm');
const {
  TOTAL, atOnce, caught, check, close, createAccounts, createDatabase, insist, run, sqlstate, stored,
} = require('./accounts');

const DATABASE = 'typeorm';

function account(table, counts) {
  return new EntitySchema({
    name: table,
    tableName: table,
    columns: {
      id: { type: 'integer', primary: true, generated: 'identity' },
      owner: { type: 'text' },
      balance: { type: 'integer', default: 0 },
      seen: { type: 'integer', default: 0 },
      version: { type: 'integer', version: counts, default: 1 },
    },
  });
}

// A table for each way to work with versions, and the mode that goes with it.
const WAYS = {
  counted: { mode: 'where', entity: account('counted', true) },
  saved: { mode: 'where', entity: account('saved', true) },
  locked: { mode: 'where', entity: account('locked', true) },
  told: { mode: 'client', entity: account('told', true) },
  written_back: { mode: 'expect', entity: account('written_back', false) },
};

async function connect() {
  const source = new DataSource({
    type: 'postgres', host: process.env.PGHOST, port: Number(process.env.PGPORT), username: process.env.PGUSER,
    database: DATABASE, entities: Object.values(WAYS).map(({ entity }) => entity),
  });
  return source.initialize();
}

// Ways to write a balance for who has read a version.
const WRITE = {
  // save() reads the row, and writes a version that differs from what it finds; REPEATABLE READ refuses what changes
  // between the two.
  saved: (source, { id, version }, balance) => source.transaction('REPEATABLE READ', (manager) => manager
    .save(WAYS.saved.entity, { id, balance, version })),
  // The lock compares; REPEATABLE READ refuses what changes between the comparison and the write.
  locked: (source, { id, version }, balance) => source.transaction('REPEATABLE READ', async (manager) => {
    const lock = { mode: 'optimistic', version };
    const row = await manager.findOneOrFail(WAYS.locked.entity, { where: { id }, lock });
    row.balance = balance;
    await manager.save(WAYS.locked.entity, row);
  }),
  told: (source, { id, version }, balance) => source.createQueryBuilder().update(WAYS.told.entity)
    .set({ balance, version: version + 1 }).where({ id }).execute(),
  written_back: (source, { id, version }, balance) => source.getRepository(WAYS.written_back.entity)
    .update({ id }, { balance, version }),
};

const isStale = (error) => error instanceof OptimisticLockVersionMismatchError
  || ['ID010', '40001'].includes(sqlstate(error));

async function keepsWhatItBelieves(source) {
  const repository = source.getRepository(WAYS.counted.entity);
  const row = await repository.save({ owner: 'a' });
  check(row.version === 1 && await stored(DATABASE, 'counted', row.id) === '0 1 0', 'save keeps the first version');
  for (const balance of [10, 20]) {
    row.balance = balance;
    await repository.save(row);
    const expected = `${balance} ${row.version} 0`;
    check(await stored(DATABASE, 'counted', row.id) === expected, 'save knows the next version');
  }
  check(row.version === 3, 'each save counts once');
}

async function countsBulkUpdates(source) {
  const repository = source.getRepository(WAYS.counted.entity);
  const { id } = await repository.save({ owner: 'b' });
  await repository.increment({ owner: 'b' }, 'balance', 7);
  check(await stored(DATABASE, 'counted', id) === '7 2 0', 'increment counts once');
  await source.createQueryBuilder().update(WAYS.counted.entity).set({ balance: 8 }).where({ id }).execute();
  check(await stored(DATABASE, 'counted', id) === '8 3 0', 'a bulk update counts once');
  await run(DATABASE, 'UPDATE counted SET balance = 9 WHERE id = $1', [id]);
  check(await stored(DATABASE, 'counted', id) === '9 4 0', 'so does an update of somebody else');
  await run(DATABASE, 'UPDATE counted SET seen = 1 WHERE id = $1', [id]);
  check(await stored(DATABASE, 'counted', id) === '9 4 1', 'but not one of an ignored column');
}

async function noticesWithALock(source) {
  const repository = source.getRepository(WAYS.locked.entity);
  const row = await repository.save({ owner: 'c' });
  await run(DATABASE, 'UPDATE locked SET balance = 5 WHERE id = $1', [row.id]);
  const error = await caught(() => WRITE.locked(source, row, 6));
  check(error instanceof OptimisticLockVersionMismatchError, 'the optimistic lock notices an update of somebody else');
  const locked = repository.createQueryBuilder('account').where({ id: row.id });
  check(await caught(() => locked.clone().setLock('optimistic', row.version).getOne()), 'setLock notices it as well');
  check(!await caught(() => locked.clone().setLock('optimistic', 2).getOne()), 'setLock with the version of now passes');
}

// What counts by itself writes another version than the one that was read, which mode "expect" refuses.
async function isRefusedWhereItCounts(source) {
  const repository = source.getRepository(WAYS.counted.entity);
  const row = await repository.save({ owner: 'd' });
  await run(DATABASE, "SELECT idem_version_attach('counted', mode => 'expect')");
  row.balance = 1;
  check(sqlstate(await caught(() => repository.save(row))) === 'ID010', 'mode expect takes no version column that counts');
}

// save() writes what differs from the row, among it the version of a stale entity, which no mode takes.
async function savesNothingStale(source, way) {
  const repository = source.getRepository(WAYS[way].entity);
  const { id } = await repository.save({ owner: 'e' });
  const stale = await repository.findOneByOrFail({ id });
  await run(DATABASE, `UPDATE ${way} SET balance = 5 WHERE id = $1`, [id]);
  stale.balance = 6;
  check(sqlstate(await caught(() => repository.save(stale))) === 'ID010', `${way}: a stale version in save() is refused`);
  check(await stored(DATABASE, way, id) === '5 2 0', `${way}: and has not written`);
}

async function refusesAStaleWrite(source, way) {
  const repository = source.getRepository(WAYS[way].entity);
  const row = await repository.save({ owner: 'f', seen: 3 });
  await WRITE[way](source, row, 10);
  check(await stored(DATABASE, way, row.id) === '10 2 3', `${way}: the first write counts`);
  check(isStale(await caught(() => WRITE[way](source, row, 20))), `${way}: a stale write is refused`);
  check(await stored(DATABASE, way, row.id) === '10 2 3', `${way}: and has not written`);
  await run(DATABASE, `UPDATE ${way} SET seen = 4 WHERE id = $1`, [row.id]);
  check(!await caught(() => WRITE[way](source, { id: row.id, version: 2 }, 30)), `${way}: an ignored column breaks no holder`);
}

async function losesNoUpdate(source, way) {
  const { id } = await source.getRepository(WAYS[way].entity).save({ owner: 'g' });
  check(await atOnce(__filename, way, id), `${way}: all processes come to an end`);
  const found = await stored(DATABASE, way, id);
  check(found === `${TOTAL} ${TOTAL + 1} 0`, `${way}: ${found} after ${TOTAL} updates`);
}

async function deposit(way, key) {
  const source = await connect();
  const repository = source.getRepository(WAYS[way].entity);
  await insist(async () => {
    const row = await repository.findOneByOrFail({ id: Number(key) });
    await WRITE[way](source, row, row.balance + 1);
  }, isStale);
  await source.destroy();
}

async function main() {
  await createDatabase(DATABASE);
  for (const [way, { mode }] of Object.entries(WAYS)) {
    await createAccounts(DATABASE, way, mode);
  }
  const source = await connect();
  await keepsWhatItBelieves(source);
  await countsBulkUpdates(source);
  await noticesWithALock(source);
  await isRefusedWhereItCounts(source);
  await savesNothingStale(source, 'saved');
  await savesNothingStale(source, 'written_back');
  for (const way of Object.keys(WRITE)) {
    await refusesAStaleWrite(source, way);
    await losesNoUpdate(source, way);
  }
  await source.destroy();
  close();
}

// With arguments it is one of many that write to an account.
(process.argv.length > 2 ? deposit(...process.argv.slice(2)) : main()).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
