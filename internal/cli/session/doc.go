// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package session connects commands to an API and reads and changes named objects there.
//
//   - The App is one call of the program: its console and the flags that all commands share.
//   - A Session is the App's way into one API: a client for objects, a client for content, and a
//     namespace.
//   - A Kind is a kind of objects that commands name by a word; an Object is one object of any of
//     them.
//   - A wait watches an object until a function accepts it. It survives a restart of the server.
//
// It offers names to shells, turns errors into messages with a next step, and says how an object
// stands. Beside the kubeconfig and tokens it reads no files, and never those of the server. What a
// single command does is not here.
package session
