// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	"fmt"

	"sigs.k8s.io/yaml"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/sealed"
)

// trusts refuses to restore before the person has said whose archive it must be.
func trusts(f *readFlags, unsigned bool, place string) error {
	if f.signer != "" || unsigned {
		return nil
	}
	return ui.Exitf(ui.ExitUsage, "restore %s: say whose signature you trust: --signer SHA256:…, the key that \"yuba archive\" printed. \"yuba archive show\" says who signed the archive. To restore it whoever wrote it: --unsigned", place)
}

// archived is the stack of a manifest.
func (c *restored) archived() (*infrav1.Terraform, error) {
	was := &infrav1.Terraform{}
	if err := yaml.Unmarshal(c.manifest, was); err != nil || was.Namespace != c.Namespace || was.Name != c.Name {
		return nil, &sealed.BadError{Why: "its manifest of " + c.Namespace + "/" + c.Name + " cannot be read"}
	}
	return was, nil
}

// tell says what a person must know before the question: as whom a stack will run, and what.
func (r *restorer) tell(c *restored) error {
	if !c.Created {
		r.News("%q exists in namespace %q: its manifest stays, its state and history are the archive's.", c.Name, c.Namespace)
		return nil
	}
	was, err := c.archived()
	if err != nil {
		return err
	}
	r.News("%s", describe(was))
	return nil
}

// describe quotes everything that the archive says: it may have been written by anybody.
func describe(t *infrav1.Terraform) string {
	account := t.Spec.ServiceAccountName
	if account == "" {
		account = infrav1.DefaultServiceAccount
	}
	source := "a program of its own manifest"
	if ref := t.Spec.SourceRef; ref != nil {
		source = fmt.Sprintf("the source %q %q of namespace %q, path %q", ref.Kind, ref.Name, t.SourceNamespace(), t.Spec.Path)
	}
	return fmt.Sprintf("%q is created in namespace %q. It runs %s as the service account %q.", t.Name, t.Namespace, source, account)
}
