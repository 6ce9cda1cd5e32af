// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package install installs Yuba's kinds and the cluster roles for view, edit and admin in a new or
// older API. It uses server-side apply with field manager "yuba", so fields of others stay. If
// everything is installed already, it changes nothing.
package install
