// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// using is the beginning of a program with a provider.
func using(name, source, arguments string) string {
	return fmt.Sprintf("terraform {\n  required_providers {\n    %s = { source = %q }\n  }\n}\nprovider %[1]q {\n%[3]s\n}\n", name, source, arguments)
}

const oneBucket = "resource \"aws_s3_bucket\" \"one\" {\n  bucket = \"there-is-one\"\n}\n"

// The stand-ins refuse the mistakes in the published examples, which proves that the corrected
// examples do not make them. They also refuse missing credentials.
func TestStandinsRefuseWhatTheRealProvidersRefuse(t *testing.T) {
	t.Parallel()
	buildStandins(t)
	y, ns := common(t)
	c, _ := cloudy(t, y, ns)
	admitted := func(o *infrav1.Terraform) {
		o.Spec.Env = append(o.Spec.Env, corev1.EnvVar{Name: "AWS_ENDPOINT_URL", Value: c.URL()}, corev1.EnvVar{Name: "AWS_ACCESS_KEY_ID", Value: "tester"},
			fromSecret("AWS_SECRET_ACCESS_KEY", "cloud", "token"))
	}
	onAWS := using("aws", "hashicorp/aws", "  region = \"us-east-1\"")
	first := inline(ns, "first", onAWS+oneBucket, auto, admitted)
	y.create(t, first)
	y.await(t, first, "it has the bucket", ready)
	for sentence, test := range map[string]struct {
		hcl    string
		change func(*infrav1.Terraform)
		want   string
	}{
		"a name that is taken":  {onAWS + oneBucket, admitted, "exists already"},
		"no credentials":        {onAWS + strings.ReplaceAll(oneBucket, "there-is-one", "another"), func(*infrav1.Terraform) {}, "no valid credential sources found"},
		"a password for RDS":    {onAWS + instance("pass@word"), admitted, "may be used"},
		"the port of AMQP":      {using("rabbitmq", "cyrilgdn/rabbitmq", "  endpoint = \"rabbitmq:5672\"\n  username = \"u\"\n  password = \"p\"") + "resource \"rabbitmq_vhost\" \"one\" {\n  name = \"one\"\n}\n", admitted, "management API"},
		"an argument of no one": {onAWS + "resource \"aws_s3_bucket\" \"one\" {\n  bucket  = \"another\"\n  buckets = 2\n}\n", admitted, "buckets"},
	} {
		name := strings.ReplaceAll(strings.ToLower(sentence), " ", "-")
		obj := inline(ns, name, test.hcl, auto, test.change)
		y.create(t, obj)
		y.await(t, obj, sentence+" is refused", func(o *infrav1.Terraform) bool {
			r := condition(o, infrav1.ConditionReady)
			return settled(o) && r.Status == metav1.ConditionFalse && strings.Contains(r.Message, test.want)
		})
	}
	if got := c.Names(""); len(got) != 1 || got[0] != "aws_s3_bucket:there-is-one" {
		t.Errorf("the cloud has %v", got)
	}
}

// instance is a database server with a password.
func instance(password string) string {
	return fmt.Sprintf("resource \"aws_db_instance\" \"one\" {\n  identifier        = \"one\"\n  engine            = \"postgres\"\n  instance_class    = \"db.t3.micro\"\n"+
		"  allocated_storage = 20\n  username          = \"admin\"\n  password          = %q\n}\n", password)
}
