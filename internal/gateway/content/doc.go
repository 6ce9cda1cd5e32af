// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package content serves data that users read and write but that is not an API object: logs, plans,
// records of runs, states, source archives, backups.
//
// Its paths are below the API server's address, and the API server parses them as requests for
// resources of the group content.yuba.dev: `GET …/namespaces/NS/terraforms/NAME/log` is the verb
// get on terraforms/log. So the API server authenticates and authorises each request with ordinary
// RBAC rules before a handler runs. With an API server that is not Yuba's (`yuba controller`), the
// same handler has an address of its own, with delegated authentication and authorisation.
//
// Handlers return errors as metav1.Status, as the API server does.
package content
