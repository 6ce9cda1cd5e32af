// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package content serves what users read and write that is no API object: logs, plans, records of runs, states, source
// archives, backups.
//
// It is served below the API server's own address, at paths that the API server reads as requests for resources of the
// group content.yuba.dev: `GET …/namespaces/NS/terraforms/NAME/log` is the verb get on terraforms/log. So it is the API
// server that authenticates and authorises, with the RBAC rules that administrators know, before a handler here runs.
// Where the API server is somebody else's (`yuba controller`), the same handler stands behind delegated authentication
// and authorisation at an address of its own.
//
// Handlers answer errors as metav1.Status, as the API server does.
package content
