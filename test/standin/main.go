// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
)

// tables are the providers that the program can serve.
var tables = map[string]table{
	"aws":        aws,
	"kafka":      kafka,
	"postgresql": postgresql,
	"rabbitmq":   rabbitmq,
	"random":     random,
}

// programName matches the names of provider executables.
var programName = regexp.MustCompile(`^terraform-provider-([a-z]+)(_|$)`)

func main() {
	if err := serve(filepath.Base(os.Args[0])); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func serve(program string) error {
	name := ""
	if found := programName.FindStringSubmatch(program); found != nil {
		name = found[1]
	}
	t, ok, err := writtenTableOf(name)
	if err != nil {
		return err
	}
	if !ok {
		t, ok = tables[name]
	}
	if !ok {
		return fmt.Errorf("%s stands in for no provider; call it terraform-provider-NAME, with aws, kafka, postgresql, rabbitmq or random, or with a name in the file that "+envTables+" names", program)
	}
	newProvider := func() provider.Provider { return &standin{name: name, table: t} }
	return providerserver.Serve(context.Background(), newProvider, providerserver.ServeOpts{Address: "registry.opentofu.org/" + t.source})
}
