// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package luatext writes the Lua code of PowerDNS' records of type LUA, such that no text of a user can
// become code.
//
// PowerDNS stores code as strings of at most 255 bytes. It joins them with a space in some versions and
// settings, and with nothing in others; it knows no escapes; and a double quote ends a string wherever
// it is. Therefore:
//
//   - Code is a list of atoms. Between two atoms, whitespace changes nothing, whether it is there or
//     not. Strings are split between atoms only.
//   - Texts become literals in single quotes, without quotes and backslashes; other bytes are written
//     as string.char(39).
//   - Words, the only atoms that are not made from a value, are constants of the code that calls.
//
// The package does not know PowerDNS' functions.
package luatext
