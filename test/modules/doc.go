// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package modules tests the modules in modules/ with their examples: with real tofu, the AWS provider's
// own code (see tools/providers/aws), S3 on versitygw, and SSM on the server of package ssmtest.
package modules
