// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package process stops, waits for and recognises the tofu processes of a runner: its own children and those that a runner
// before it started.
//
// A [Process] gets one SIGINT, however many ask for its end, and SIGKILL for its whole group when its grace period has passed.
// A [Record] names a process on disk beyond its number, which the kernel gives to others later: by its start time and by the
// boot. What a recorded process wrote counts only while boot and mount are the same.
package process
