// Sequelize with version: true, on tables with kept versions.

'use strict';

const { DataTypes, OptimisticLockError, Sequelize } = require('sequelize');
const {
  TOTAL, atOnce, caught, check, close, createAccounts, createDatabase, insist, run, sqlstate, stored,
} = require('./accounts');

const DATABASE = 'sequelize';

function connect() {
  return new Sequelize({
    dialect: 'postgres', host: process.env.PGHOST, port: process.env.PGPORT, username: process.env.PGUSER,
    database: DATABASE, logging: false,
  });
}

function model(sequelize, table) {
  return sequelize.define('Account', {
    owner: DataTypes.TEXT, balance: DataTypes.INTEGER, seen: DataTypes.INTEGER,
  }, { tableName: table, timestamps: false, version: true });
}

const isStale = (error) => error instanceof OptimisticLockError;

async function keepsWhatItBelieves(Account, table, what) {
  const row = await Account.create({ owner: 'a', balance: 0 });
  check(row.version === 0 && await stored(DATABASE, table, row.id) === '0 0 0', `${what}: an insert keeps its version`);
  for (const balance of [10, 20]) {
    await row.update({ balance });
    const expected = `${balance} ${row.version} 0`;
    check(await stored(DATABASE, table, row.id) === expected, `${what}: the version is known after a save`);
  }
  check(row.version === 2, `${what}: each save counts once`);
}

async function refusesAStaleSave(Account, table, what) {
  const first = await Account.create({ owner: 'b', balance: 0 });
  const second = await Account.findByPk(first.id);
  await first.update({ balance: 10 });
  check(isStale(await caught(() => second.update({ balance: 20 }))), `${what}: a stale save is refused`);
  check(await stored(DATABASE, table, first.id) === '10 1 0', `${what}: and has not written`);
}

async function losesNoUpdate(Account, table, what) {
  const { id } = await Account.create({ owner: 'c', balance: 0 });
  check(await atOnce(__filename, table, id), `${what}: all processes come to an end`);
  const found = await stored(DATABASE, table, id);
  check(found === `${TOTAL} ${TOTAL} 0`, `${what}: ${found} after ${TOTAL} updates`);
}

// A bulk update says nothing of the version: it counts, or is refused where each client has to count.
async function countsBulkUpdates(Account, table, what, byItself) {
  const row = await Account.create({ owner: 'd', balance: 0 });
  const error = await caught(() => Account.update({ balance: 7 }, { where: { owner: 'd' } }));
  if (byItself) {
    check(sqlstate(error) === 'ID010', `${what}: a bulk update reaches the program as ID010`);
    await Account.increment({ balance: 7 }, { where: { owner: 'd' } });
  }
  check(await stored(DATABASE, table, row.id) === '7 1 0', `${what}: a bulk update counts`);
  check(isStale(await caught(() => row.update({ balance: 8 }))), `${what}: who held the row from before is refused`);
  await Account.decrement('balance', { where: { owner: 'd' } });
  check(await stored(DATABASE, table, row.id) === '6 2 0', `${what}: decrement counts once`);
}

async function isNotDisturbedByIgnoredColumns(Account, table, what) {
  const row = await Account.create({ owner: 'e', balance: 0 });
  await run(DATABASE, `UPDATE ${table} SET seen = seen + 1 WHERE id = $1`, [row.id]);
  check(!await caught(() => row.update({ balance: 10 })), `${what}: an ignored column breaks no holder`);
  check(await stored(DATABASE, table, row.id) === '10 1 1', `${what}: whose save counts`);
}

async function deposit(table, key) {
  const sequelize = connect();
  const Account = model(sequelize, table);
  await insist(async () => {
    const row = await Account.findByPk(key);
    await row.update({ balance: row.balance + 1 });
  }, isStale);
  await sequelize.close();
}

async function main() {
  await createDatabase(DATABASE);
  const sequelize = connect();
  for (const mode of ['where', 'client']) {
    const what = `version: true, mode ${mode}`;
    const table = `accounts_${mode}`;
    await createAccounts(DATABASE, table, mode);
    const Account = model(sequelize, table);
    await keepsWhatItBelieves(Account, table, what);
    await refusesAStaleSave(Account, table, what);
    await losesNoUpdate(Account, table, what);
    await countsBulkUpdates(Account, table, what, mode === 'client');
    await isNotDisturbedByIgnoredColumns(Account, table, what);
  }
  await sequelize.close();
  close();
}

// With arguments it is one of many that write to an account.
(process.argv.length > 2 ? deposit(...process.argv.slice(2)) : main()).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
