// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package powerdns is a client for the HTTP API of PowerDNS authoritative servers: zones, and the
// records of names.
//
// A change of several record sets is one request, which the server applies as a whole. The API key is in
// the header of requests only, never in an error or a URL. Answers are read to a limit, and what the
// server says is shortened before anybody sees it.
//
// The package does not know what records mean, or whose they are.
package powerdns
