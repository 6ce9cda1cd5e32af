// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package dbtest gives tests real database servers: MariaDB and PostgreSQL, as Debian packages
// them.
//
// A server is a process of the test. It listens on a free port of the loopback interface, stores
// its data and its socket in a directory that is removed with it, and has a TLS certificate for
// localhost. If the test runs as root, which servers refuse, it runs as another user. It always
// ends with the test binary.
//
// Without the programs, tests fail and say what to install. Therefore these tests are not part of
// "make test"; "make test-services" runs them.
//
// Starting takes a few seconds. A package with several tests starts a server in its TestMain and
// shares it:
//
//	server, err := dbtest.StartPostgres()
//
// In a package with one test, the server starts and ends with the test:
//
//	server := dbtest.Postgres(t)
package dbtest
