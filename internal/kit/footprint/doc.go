// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package footprint gives back memory that a process needed for its start only, and tells what a process takes.
//
// A program as large as Yuba initialises thousands of packages before main begins. Each touches a little of the
// program's file, and around every touch the kernel maps a lot. Once the process has settled, most of that is never
// looked at again: heap that was garbage a moment later, and clean pages of the file, which come back from the page
// cache one by one when they are needed after all.
package footprint
