terraform {
  required_providers {
    aws = { source = "hashicorp/aws", version = "~> 5.40" }
    random = { source = "hashicorp/random", version = "3.6.0" }
  }
}
variable "db_password" {
  type        = string
  sensitive   = true
  description = "Password of the database, at least 16 characters"
  validation {
    condition     = length(var.db_password) >= 16
    error_message = "db_password: at least 16 characters."
  }
}
variable "api_token" { sensitive = true }
provider "aws" {
  access_key = var.access_key
  secret_key = var.secret_key
  token      = data.vault_generic_secret.aws.data["token"]
}
resource "random_password" "db" {
  length           = 32
  special          = true
  override_special = "!#$%&*()-_=+[]{}<>:?"
}
resource "aws_db_instance" "main" {
  identifier          = "harbour-db2"
  username            = "harbour"
  password            = random_password.db.result
  kms_key_id          = "arn:aws:kms:eu-north-1:123456789012:key/0c1a2b3d-4e5f-6071-8293-a4b5c6d7e8f9"
  secret_arn          = aws_secretsmanager_secret.db.arn
  skip_final_snapshot = false
}
resource "aws_secretsmanager_secret_version" "db" {
  secret_id     = aws_secretsmanager_secret.db.id
  secret_string = jsonencode({ username = "harbour", password = var.db_password, token = local.tokens["db2"] })
}
resource "aws_key_pair" "deploy" {
  key_name   = "deploy-2024-03"
  public_key = file("~/.ssh/id_ed25519.pub")
}
resource "kubernetes_secret" "api" {
  metadata { name = "api-token-v2" }
  data = { token = var.api_token, "api-key" = base64encode(var.api_key), password = module.db.password }
}
output "db_password" {
  value     = random_password.db.result
  sensitive = true
}
