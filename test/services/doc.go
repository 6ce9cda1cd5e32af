// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package services contains the tests that need other servers, from Debian packages: MariaDB and
// PostgreSQL.
//
// "make test-services" installs missing packages if it may, starts the servers, and runs the tests.
// They are not part of "make test", which needs only Go, so no test has to skip itself.
//
// They test only what needs a real server: how it formats values, its errors for missing names and
// permissions, how TLS connections begin and end, what happens to a query whose server dies, and
// how soon NOTIFY arrives. internal/tenants/database tests the generation of statements and the parsing
// of documents.
package services
