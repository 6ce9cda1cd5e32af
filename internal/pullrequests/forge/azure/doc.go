// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package azure speaks the API of Azure DevOps, version 7.1, of the service and of the server.
//
// Azure DevOps tells neither when a pull request changed last, nor which commit a vote is about, nor, below the address of
// its repositories, what others may do: Right is not supported. A repository is not found under an earlier name.
//
// https://learn.microsoft.com/rest/api/azure/devops/git
package azure
