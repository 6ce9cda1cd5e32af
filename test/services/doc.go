// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package services holds the tests that need servers of others, as Debian packages them: MariaDB and PostgreSQL.
//
// "make test-services" installs what is missing where it may, starts the servers for the time of the tests and runs them.
// They are not part of "make test", which needs nothing but Go: so none of them has to skip itself.
//
// What is tested here is what only a real server can show: how it writes values, what it says about names that do not exist
// and users who may not, how TLS begins and ends, what becomes of a reading whose server dies, and how soon NOTIFY is heard.
// How statements are written and documents are read is tested beside the code, in internal/tenants/rows.
package services
