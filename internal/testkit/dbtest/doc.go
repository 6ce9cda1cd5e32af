// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package dbtest gives tests real database servers: MariaDB and PostgreSQL, as Debian packages them.
//
// A server is a process of the test's own. It listens on a free port of the loopback interface, keeps its data and its socket
// in a directory that is removed with it, speaks TLS with a certificate for localhost alone, and runs as somebody else when
// the test runs as root, whom servers refuse to be. It is ended by its process, and goes with the test binary in any case.
//
// Tests fail where the programs are not installed, and say what to install: nothing is skipped. For that reason these tests
// are not part of "make test"; "make test-services" runs them.
//
// Starting takes a few seconds. A package with several tests starts a server in its TestMain and shares it:
//
//	server, err := dbtest.StartPostgres()
//
// A package with one test has it start and end with the test:
//
//	server := dbtest.Postgres(t)
package dbtest
