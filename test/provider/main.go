// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command provider is the provider of the tests: yuba-dev/yubatest. It manages the objects of the cloud in test/cloud
// with the plugin framework that real providers are made with. It is a module of its own, so that Yuba does not depend
// on what it needs.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
)

func main() {
	err := providerserver.Serve(context.Background(), newProvider, providerserver.ServeOpts{Address: "registry.opentofu.org/yuba-dev/yubatest"})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}
