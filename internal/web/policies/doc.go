// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package policies shows what policies ask for and what they said: the policies with the stacks that they
// select, the verdicts about pending plans, trials of a policy on the last plans, and the audit log.
//
// The audit log and trials are read as the person: only those who may read them see them.
package policies
