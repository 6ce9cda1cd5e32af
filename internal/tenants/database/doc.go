// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package database reads the rows of tenants from their source: a table of MySQL, MariaDB, PostgreSQL
// or SQLite, a JSON document of a web server, a key of a ConfigMap.
//
// Terms:
//
//   - A Source is one origin of rows. It keeps its connections between readings, and belongs to one
//     registry.
//   - A Reading is all rows at one moment: the requested columns as text; nil is NULL.
//   - A condition selects rows. It compares text, byte by byte, for every kind of source.
//   - A Pool keeps the sources of all registries, and reopens one when its settings have changed.
//
// Invariants:
//
//   - A reading is complete or an error: never a part, and never a mix of two moments. A database
//     returns it from one read-only transaction with one statement.
//   - Nothing is written, and nothing from a table or a manifest becomes part of a statement: names
//     are quoted, values bound.
//   - Rows, bytes and time are limited, also for malicious servers.
//   - Errors contain no password, and of received data only a database's message about a statement.
//   - The server's own identity is never used: no environment, socket or password file, no
//     connections to metadata services, and SQLite files only in directories that the administrator
//     allows.
//
// The package does not know the meaning of columns; package row does.
package database
