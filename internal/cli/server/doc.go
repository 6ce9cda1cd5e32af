// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package server has the commands that start and serve the server: up, controller, backup and
// restore, tools and providers, crds, kubectl, completion and version.
//
// Flags become options of package app. Limits, sizes and addresses are checked here, so that a
// wrong command line fails before anything starts.
package server
