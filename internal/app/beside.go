// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

// Beside finds a program that is installed with this one, such as yuba-policy.
func Beside(name string) (string, error) { return beside(name) }
