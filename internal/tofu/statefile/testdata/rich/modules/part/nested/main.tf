resource "terraform_data" "deep" {
  for_each = toset(["k"])
}
