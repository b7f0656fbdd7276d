// Answers a query by DuckDB: node query.mjs "SELECT ...". Prints the rows as JSON.
import { DuckDBInstance } from "@duckdb/node-api";

const instance = await DuckDBInstance.create(":memory:");
const connection = await instance.connect();
const answer = await connection.runAndReadAll(process.argv[2]);
console.log(JSON.stringify(answer.getRowObjectsJson()));
