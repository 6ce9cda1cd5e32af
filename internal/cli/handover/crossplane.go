// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// managed is how Crossplane's provider for AWS (Upbound's official one) names a kind of resource. Its
// annotation crossplane.io/external-name is the attribute id of the same resource in tofu: an
// identifier that AWS assigns, or the name.
type managed struct{ apiVersion, kind string }

// knownKinds are the kinds whose external name the provider documents as the id.
var knownKinds = map[string]managed{
	"aws_vpc":              {"ec2.aws.upbound.io/v1beta1", "VPC"},
	"aws_subnet":           {"ec2.aws.upbound.io/v1beta1", "Subnet"},
	"aws_internet_gateway": {"ec2.aws.upbound.io/v1beta1", "InternetGateway"},
	"aws_security_group":   {"ec2.aws.upbound.io/v1beta1", "SecurityGroup"},
	"aws_s3_bucket":        {"s3.aws.upbound.io/v1beta1", "Bucket"},
	"aws_iam_role":         {"iam.aws.upbound.io/v1beta1", "Role"},
}

// writeCrossplane writes a manifest for each resource whose kind is known. Nothing proves them: they only
// observe.
func (d *directory) writeCrossplane(all []resource) (proof string, err error) {
	known := 0
	for _, r := range all {
		kind, ok := knownKinds[r.Type]
		if !ok || r.ID == "" || r.Deposed {
			continue
		}
		known++
		text, err := yaml.Marshal(kind.manifest(r))
		if err != nil {
			return "", err
		}
		name := manifestName(r.Address)
		if err := d.replace(filepath.Join(d.path, "manifests", name+".yaml"), text); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("none. Manifests that only observe were written for %d of %s, and nobody has applied them", known, ui.Count(len(all), "resource")), nil
}

func (m managed) manifest(r resource) map[string]any {
	parameters := map[string]any{}
	if region := regionOf(r.attributes); region != "" && m.kind != "Role" {
		parameters["region"] = region
	}
	return map[string]any{
		"apiVersion": m.apiVersion, "kind": m.kind,
		"metadata": map[string]any{"name": manifestName(r.Address), "annotations": map[string]any{
			"crossplane.io/external-name": r.ID, "yuba.dev/address": r.Address}},
		"spec": map[string]any{"managementPolicies": []any{"Observe"}, "deletionPolicy": "Orphan", "forProvider": parameters},
	}
}

// regionOf finds the region of a resource of AWS.
func regionOf(attributes json.RawMessage) string {
	var a struct {
		Region string `json:"region"`
		ARN    string `json:"arn"`
	}
	if json.Unmarshal(attributes, &a) != nil {
		return ""
	}
	if part := strings.Split(a.ARN, ":"); a.Region == "" && len(part) > 3 {
		return part[3]
	}
	return a.Region
}

var notInNames = regexp.MustCompile("[^a-z0-9]+")

// manifestName makes a name of an address, which no other address gets.
func manifestName(address string) string {
	sum := sha256.Sum256([]byte(address))
	name := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(address), "-"), "-")
	return strings.Trim(name[:min(len(name), 50)], "-") + "-" + hex.EncodeToString(sum[:4])
}
