// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package connect makes clients of PowerDNS servers from what an object says: a URL, and a Secret of a namespace with the
// API key and, optionally, the CA's certificate.
//
// Errors never have the key, nor credentials in a URL. Addresses that nobody may ask, such as metadata services, are refused
// when a client connects.
package connect
