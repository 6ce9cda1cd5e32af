// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package memory returns memory that a process needed only for its start, and measures the
// resource usage of a process.
//
// A program as large as Yuba initialises thousands of packages before main begins. Each touches a
// part of the program's file, and the kernel maps much more around it. Afterwards most of that is
// unused: heap that became garbage at once, and clean pages of the file, which the page cache can
// provide again one by one.
package memory
