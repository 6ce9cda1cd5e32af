// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package process stops, waits for and recognises tofu processes: the runner's own children, and
// those of an earlier runner.
//
// A [Process] gets one SIGINT, however many ask, and after its grace period SIGKILL for its group.
// A [Record] identifies a process on disk by pid, start time and boot, since the kernel reuses
// pids. Its output counts only while boot and mount are the same.
package process
