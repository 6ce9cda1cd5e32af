// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package rows reads the rows of tenants from where they are: a table of MySQL, MariaDB, PostgreSQL or SQLite, a JSON document
// of a web server, a key of a ConfigMap.
//
// Nouns:
//
//   - A Source is one place with rows. It keeps its connections between readings, and belongs to one registry.
//   - A Reading is all rows at one moment: the columns that were asked for, as texts; nil is NULL.
//   - A condition says which rows count. It compares texts, byte by byte, on every kind of source alike.
//   - A Pool keeps the sources of all registries, and opens one anew when what it was opened with has changed.
//
// Invariants:
//
//   - A reading is whole or an error: never a part, and never rows of two moments. Databases give it out of one read-only
//     transaction by one statement, whose rows are taken as they come.
//   - Nothing is written, and nothing from a table or a manifest becomes part of a statement: names are quoted, values bound.
//   - Rows, bytes and time are bounded, and so is what a server that means ill may send.
//   - No password is in an error, and nothing of what came over a connection but what a database says about a statement.
//   - The server's own identity is lent to nobody: no environment, no socket, no password file counts, metadata services are
//     not connected to, and SQLite files are read below the directories that the server's administrator named.
//
// The package does not know which column means what; package row does.
package rows
